"""What commands share that talk to a cluster."""
