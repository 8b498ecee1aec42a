"""TLS on channels: OpenSSL with Kafka's settings.

- `context`: **TlsSettings**, and the OpenSSL contexts that they make, for clients and for servers.
- `key_store`: trusted certificates and an identity from a file: `pem`, `pkcs12` or `jks`.
- `transport`: **TlsTransport**, a transport that encrypts.
- `failure`: explains a handshake that failed.
- `question`: asks a port whether it speaks TLS.
- `certificate`, `der`: what a certificate says.
"""
