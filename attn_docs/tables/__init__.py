"""The tables and numbers that the pages show, computed."""
