"""Figures of the chapters on the foundations."""
