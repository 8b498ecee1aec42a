"""TLS on channels: contexts, key stores, the transport and what its failures mean."""
