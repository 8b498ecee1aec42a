"""`kdiag report`, `kdiag query` and `kdiag tables`."""
