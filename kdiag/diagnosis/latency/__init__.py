"""Where latencies go, and what makes them long."""
