"""Messages from bytes and back: compiled for each version, and a slow reader that explains."""
