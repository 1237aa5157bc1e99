"""Position: how attention learns where each vector stands."""
