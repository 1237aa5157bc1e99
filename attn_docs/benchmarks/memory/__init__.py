"""Measurements of the chapters on memory."""
