"""What is done with attention once it is built: tested, and shown to be wrong."""
