"""Tables and numbers of the chapters on heads."""
