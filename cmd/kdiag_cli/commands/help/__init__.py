"""`kdiag help`."""
