"""What draws the site's figures, from the values they show."""
