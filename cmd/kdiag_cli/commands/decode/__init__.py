"""`kdiag decode`."""
