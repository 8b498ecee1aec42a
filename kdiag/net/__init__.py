"""Non-blocking input and output over many connections, as Kafka's `common.network` does it.

- An **Address** (`address`) is where a connection goes; `tcp/` sets and reads its socket.
- A **Transport** (`transport`, `tls/`) moves bytes on one socket: plaintext, or TLS around it.
- An **Authenticator** (`authenticator`, `sasl/`) proves, over a transport, who the two ends are.
- A **Channel** (`channel`) is a transport, its authenticator, at most one send and one receive.
- A **NetworkSend** (`send`) is an outgoing frame, a **NetworkReceive** (`receive`) an incoming one;
  both survive partial I/O. `foreign` recognises what is not Kafka.
- The **Selector** (`selector/`) drives many channels with one `poll`, within a **MemoryPool**.
- A **Processor** (`server/`) is the server's side of it: one request at a time for each channel.
- **TimedChannels** (`timed_channel`) record how far each connection came; **SocketFacts**
  (`tcp/`) are what the system knows of it.

Nothing here knows what a frame says but the authenticators; time comes from the caller's clock.
"""
