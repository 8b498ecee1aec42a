"""`kdiag pipeline`."""
