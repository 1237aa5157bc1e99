"""What one step of decoding reads and computes."""
