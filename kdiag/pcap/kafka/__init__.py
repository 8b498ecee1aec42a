"""Is this Kafka, and what are its frames: detection, framing, matching."""
