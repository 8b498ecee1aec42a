"""A Kafka client: connections, requests on them, and the configuration of both.

From the top to the bottom:

- The **ClusterClient** (`cluster_client`) asks one broker, any broker, or all at once; probes use
  it. `configured_client` makes one from a configuration, `bootstrap` finds its cluster.
- The **ConsumerNetworkClient** (`consumer_network_client`) queues requests until their node is
  ready; a **RequestFuture** (`request_future`) is the result of one.
- The **NetworkClient** (`network/`) connects, negotiates versions, sends, matches responses and
  times out.
- `error_reactions` is the table of what follows each error code.
- The **Fetcher** (`fetch/`) reads partitions through a ClusterClient.
- A **ClientConfig** (`config/`) is read from Java's or librdkafka's settings; `channel_builder`
  makes the channels that it asks for.

Names and behaviour are those of Kafka's own clients. Time comes from the caller's clock, and all
intervals are integers in nanoseconds.
"""
