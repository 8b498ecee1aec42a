"""Messages of Kafka's own topics, logs and nested protocols, a file each; `table` lists them."""
