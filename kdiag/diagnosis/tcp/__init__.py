"""Who keeps a connection from going faster."""
