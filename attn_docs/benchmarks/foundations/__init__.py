"""Measurements of the chapters on the foundations."""
