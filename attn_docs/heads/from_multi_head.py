"""From multi-head attention to shared keys and values, and back."""
