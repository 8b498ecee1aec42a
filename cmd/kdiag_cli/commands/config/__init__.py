"""`kdiag config`."""
