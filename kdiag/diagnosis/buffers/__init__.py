"""What socket buffers let a path carry, and what to set."""
