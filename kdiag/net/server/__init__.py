"""The server's side of connections: who accepts them, who reads requests and writes responses.

    listener     ServerListener: a listening socket, and the thread that accepts
    port_hold    PortHold: a port that is kept while nobody listens at it
    processor    Processor: the loop of one thread over a selector: one request at a time for each
                 connection, which is muted until it is answered
    file_send    FileSend: a frame of bytes and of parts of files, which leave by `sendfile`

What a request says is nobody's business here: a processor hands out frames and takes frames.

Source: Kafka's `SocketServer` (`Acceptor`, `Processor`, `RequestChannel`).
"""
