"""Attention as today's models have it, and their own layers as this book's."""
