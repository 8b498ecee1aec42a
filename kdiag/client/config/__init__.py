"""The configuration of a client: its keys, values and sources."""
