"""`kdiag completion`."""
