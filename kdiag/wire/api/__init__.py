"""One file for each Kafka API: its request, its response and their structs; `table` lists them."""
