"""`kdiag find-coordinator`."""
