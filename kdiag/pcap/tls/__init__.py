"""Recorded TLS connections, opened with a key log."""
