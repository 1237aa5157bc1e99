"""The checks, each of one property: those that functions and modules share, and those of one."""
