"""What Kafka keeps in its own topics and embeds in messages: one file per record type."""
