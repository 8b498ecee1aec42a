"""`kdiag api-versions`."""
