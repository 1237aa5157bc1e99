"""The part Today's models."""
