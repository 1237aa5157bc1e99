"""Memory: what a model keeps of the words before, and what reading it costs."""
