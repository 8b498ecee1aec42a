"""What a check of a cluster has seen, judged."""
