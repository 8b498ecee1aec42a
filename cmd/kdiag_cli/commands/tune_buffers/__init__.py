"""`kdiag tune-buffers`."""
