"""What builds and generates the site: Markdown extensions and commands."""
