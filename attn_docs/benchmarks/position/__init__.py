"""Measurements of the chapters on position."""
