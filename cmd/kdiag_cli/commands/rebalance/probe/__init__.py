"""`kdiag rebalance probe`: provokes rebalances in a group of its own, and measures them."""
