"""What commands share that read captures."""
