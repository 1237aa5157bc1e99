"""Measurements of the chapters on heads."""
