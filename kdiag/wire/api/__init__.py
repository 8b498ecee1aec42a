"""One file per Kafka API: its request, its response and their structs."""
