"""Wrong models, each wrong in the one line that says so."""
