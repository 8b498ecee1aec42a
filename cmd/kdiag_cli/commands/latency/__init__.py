"""`kdiag latency`."""
