"""`kdiag tail`."""
