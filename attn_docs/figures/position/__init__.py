"""Figures of the chapters on position."""
