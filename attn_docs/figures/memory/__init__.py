"""Figures of the chapters on memory."""
