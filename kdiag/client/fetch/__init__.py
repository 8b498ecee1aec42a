"""Reading partitions: fetches, sessions, positions and recovery."""
