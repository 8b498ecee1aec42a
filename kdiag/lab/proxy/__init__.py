"""A proxy before a real cluster: the lab's faults, for clients that want Kafka itself.

    client -> 127.0.0.1:40001 -> ProxyRelay -> broker 1        a listener for each broker

    proxy_server       ProxyServer: the listeners, the thread, and the cluster behind them
    proxy_relay        ProxyRelay: the loop of the thread, over all connections
    proxy_link         ProxyLink: a client's connection and the one to its broker, with what waits
    relayed_request    RelayedRequest: as much as is understood of a request
    broker_addresses   BrokerAddresses: where brokers are, and where clients are told that they are

Frames pass as they are, byte for byte, but for answers that tell addresses of brokers, and for what
faults change. What is not understood passes, too: an API or a version that is not known has no
faults, and that is counted.
"""
