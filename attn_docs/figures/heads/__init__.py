"""Figures of the chapters on heads."""
