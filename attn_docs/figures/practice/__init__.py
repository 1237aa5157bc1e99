"""Figures of the chapters of the part Practice."""
