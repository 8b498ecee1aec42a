"""`kdiag check`."""
