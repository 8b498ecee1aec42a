"""TCP itself: how its sockets are set, and what the system knows of a connection.

    sockets          options as Kafka sets them, connects that do not block, both ends
    tcp_info         SocketFacts: round-trip times, windows and retransmissions (`TCP_INFO`)
    loopback_pair    two connected sockets of this process

All know the operating system; what is carried is nobody's business here.
"""
