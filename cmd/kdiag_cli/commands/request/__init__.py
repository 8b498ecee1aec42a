"""`kdiag request`."""
