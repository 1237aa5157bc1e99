"""What builds and generates the site: Markdown extensions and commands, none needing torch to build."""
