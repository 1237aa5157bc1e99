"""Complete scripts shown on the site, each with the lines it prints."""
