"""Which gang comes first. One policy a file."""
