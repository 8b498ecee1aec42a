"""Non-blocking input and output over many connections, as Kafka's `common.network` does it.

Five nouns:

- A **Transport** moves bytes on one socket: plaintext, or TLS around it.
- An **Authenticator** proves, over a Transport, who the two ends are (SASL, or nothing at all).
- A **Channel** is a Transport, its Authenticator, at most one Send and at most one Receive.
- A **Send** is a frame on its way out, a **Receive** one on its way in; both survive partial I/O.
- The **Selector** watches many Channels with one `poll`, and tells what was sent, what was
  received, who connected and who is gone.

Nothing here knows what a frame says but the authenticators; time comes from the caller's clock.
"""
