"""Measured comparisons, side by side in one run; `make bench` prints and stores them."""
