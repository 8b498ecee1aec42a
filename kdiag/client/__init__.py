"""A Kafka client: which connections there are, what is asked on them and what comes back.

Five nouns, named as in Kafka's own client:

- A **Node** is where a broker listens; **ClusterConnectionStates** knows how each connection fares.
- **InFlightRequests** are those that were sent and not answered, per node, in order.
- The **NetworkClient** connects, negotiates versions, sends, matches responses and times out.
- A **RequestFuture** is the result of a request; the **ConsumerNetworkClient** queues requests
  until their node is ready, and may be used from two threads.
- The **ClusterClient** asks: one broker, any broker, or all at once.

Time comes from the caller's clock and all intervals are integers in nanoseconds.
"""
