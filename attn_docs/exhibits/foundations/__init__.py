"""Wrong versions of the foundations' mechanisms."""
