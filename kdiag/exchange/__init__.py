"""What crossed the wire: requests with their responses, and how kdiag speaks of them."""
