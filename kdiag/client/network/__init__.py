"""The network client: connections, requests in flight, metadata."""
