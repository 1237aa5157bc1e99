"""Tables and numbers of the chapters on position."""
