"""Tables and numbers of the chapters of the part Practice."""
