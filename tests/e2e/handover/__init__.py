"""How long nothing is scheduled while one replica takes over from the other: a measurement."""
