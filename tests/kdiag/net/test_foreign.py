from kdiag.errors import Layer
from kdiag.net.foreign import foreign_protocol
from tiers.cases import for_each


@for_each(
    ("first", "protocol", "said"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n", "HTTP", 'a web server answered: "HTTP/1.1 400 Bad'),
        (b"GET /metrics HTTP/1.1\r\n", "HTTP", 'a web client asked: "GET /metrics HTTP/1.1"'),
        (b"PRI * HTTP/2.0\r\n", "HTTP", "a web client asked"),
        (b"-ERR unknown command\r\n", "Redis", 'a Redis server answered: "-ERR unknown'),
        (b"-DENIED Redis is running in protected mode", "Redis", "protected mode"),
        (b"SSH-2.0-OpenSSH_9.2p1\r\n", "SSH", '"SSH-2.0-OpenSSH_9.2p1"'),
        (b"AMQP\0\0\x09\x01", "AMQP", "RabbitMQ"),
        (b"ERROR\r\n", "memcached", "memcached"),
        (b"220 mail.example.test ESMTP\r\n", "SMTP or FTP", "a mail or file server"),
        (b"RFB 003.008\n", "VNC", "VNC"),
        (b"PROXY TCP4 10.0.0.1 10.0.0.2 1 2\r\n", "PROXY", "load balancer"),
        (b"E\0\0\0\x8eSFATAL\0VFATAL\0", "PostgreSQL", "PostgreSQL"),
        (b"J\0\0\0\n8.0.36\0", "MySQL", "MySQL"),
        (b"HTTP", "HTTP", "a web server answered"),
        (
            b"It looks like you are trying to access MongoDB over HTTP",
            "MongoDB",
            "a MongoDB server",
        ),
        (b"ruok is not executed because it is not in the whitelist.\n", "text", '"ruok is not ex'),
    ],
)
def test_a_protocol_is_known_by_its_first_bytes(first: bytes, protocol: str, said: str) -> None:
    """What was said in its first line is shown where that can be read."""
    foreign = foreign_protocol(first)

    assert foreign is not None
    assert (foreign.protocol, foreign.layer) == (protocol, Layer.KAFKA)
    assert said in foreign.why
    assert "port" in foreign.fix


@for_each(
    ("first", "said"),
    [
        (b"\x15\x03\x03\x00\x02\x02\x46", "TLS alert protocol_version"),
        (b"\x15\x03\x01\x00\x02\x02\xfe", "TLS alert 254"),
        (b"\x15\x03\x03\x00", "it answered plaintext with a TLS alert"),
        (b"\x16\x03\x01\x02\x00\x01\x00", "began a TLS handshake"),
    ],
)
def test_tls_is_told_as_the_layer_that_was_misunderstood(first: bytes, said: str) -> None:
    """An alert answers plaintext; a handshake comes where plaintext was expected."""
    foreign = foreign_protocol(first)

    assert foreign is not None
    assert (foreign.protocol, foreign.layer) == ("TLS", Layer.TLS)
    assert said in foreign.why
    assert "security.protocol" in foreign.fix


@for_each("first", [b"", b"\x16", b"\0\0\0\x10", b"\xff\xff\xff\xff", b"\x16\x04ab"])
def test_anything_else_is_nobodys(first: bytes) -> None:
    """A guess would mislead."""
    assert foreign_protocol(first) is None


def test_only_printable_text_is_shown() -> None:
    """A terminal is not at the mercy of whoever listens on a port."""
    foreign = foreign_protocol(b"HTTP/1.1 \x1b[2J" + b"x" * 100)

    assert foreign is not None
    assert foreign.why == 'a web server answered: "HTTP/1.1 "'
