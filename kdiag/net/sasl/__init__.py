"""SASL on channels: a client proves who it is over Kafka's protocol.

- `settings`: **SaslSettings**, and the mechanism that they name.
- `mechanism`: what a **SaslMechanism** is, its errors, and PLAIN.
- `scram`, `oauthbearer`: the other mechanisms; `tokens` are the sources of bearer tokens.
- `conversation`: the requests around a mechanism's tokens, apart from how they travel.
- `authenticator`: **SaslAuthenticator** carries a conversation on a channel, again and again.
"""
