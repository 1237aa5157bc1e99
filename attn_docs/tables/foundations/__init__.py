"""Tables and numbers of the chapters on the foundations."""
