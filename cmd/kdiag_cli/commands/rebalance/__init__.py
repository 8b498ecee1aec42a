"""`kdiag rebalance`: why groups rebalance."""
