from base64 import urlsafe_b64encode

from kdiag.exchange.secrets.sasl_user import note_mechanism, note_token, read_sasl_user
from recordings.exchange_maker import make_connection
from tiers.cases import for_each

SCRAM = b"n,,n=alice,r=fyko+d2lbbFgONRv9qkxdawL"


def bearer(claims: bytes) -> bytes:
    """Return the first token of OAUTHBEARER, with a JWT of these claims."""
    body = urlsafe_b64encode(claims).rstrip(b"=")
    return b"n,a=somebody,\x01host=kafka\x01auth=Bearer e30." + body + b".c2VjcmV0\x01\x01"


ALICE = [
    ("PLAIN", b"\0alice\0pw"),
    ("PLAIN", b"alice\0alice\0pw"),
    ("SCRAM-SHA-512", SCRAM),
    ("SCRAM-SHA-256", b"y,a=bob,n=alice,r=x,tokenauth=true"),
    ("OAUTHBEARER", bearer(b'{"iss": ["deep", {}], "sub": "alice"}')),
]


@for_each(("mechanism", "token"), ALICE)
def test_the_first_token_of_a_mechanism_has_the_user(mechanism: str, token: bytes) -> None:
    """The form alone is enough, where the capture lacks the handshake."""
    assert read_sasl_user(token, mechanism) == "alice"
    assert read_sasl_user(token, None) == "alice"


@for_each(
    ("mechanism", "token"),
    [
        ("PLAIN", b"alice\0pw"),
        ("PLAIN", b"\0\0pw"),
        ("PLAIN", b"\0alice\0"),
        ("PLAIN", b"\0al\xffice\0pw"),
        ("PLAIN", b"\0alice\0p\xff"),
        ("PLAIN", SCRAM),
        ("SCRAM-SHA-512", b"c=biws,r=abc,p=abc"),
        ("SCRAM-SHA-512", b"n,,n=,r=abc"),
        ("SCRAM-SHA-512", b"\0alice\0pw"),
        ("OAUTHBEARER", b"n,,\x01auth=Bearer opaque\x01\x01"),
        ("OAUTHBEARER", bearer(b'{"sub": 7}')),
        ("OAUTHBEARER", bearer(b"[" * 20_000)),
        ("OAUTHBEARER", bearer(b"{")),
        ("OAUTHBEARER", bearer(b'{"sub": "\xff"}')),
        ("OAUTHBEARER", b"\x01"),
        ("GSSAPI", b"\0alice\0pw"),
        ("PLAIN", b"\0alice\0" + bytes([65]) * 70_000),
        (None, b"\0ali\x01ce\0pw"),
        (None, b"x" * 20),
        (None, b""),
    ],
)
def test_other_tokens_have_none(mechanism: str | None, token: bytes) -> None:
    """Also those that are malformed, too long, or kept secret by whoever masked them."""
    assert read_sasl_user(token, mechanism) is None


def test_a_user_of_scram_is_unescaped() -> None:
    """A comma and an equals sign are escaped on the wire."""
    assert read_sasl_user(b"n,,n=a=2Cb=3D2C,r=x", "SCRAM-SHA-256") == "a,b=2C"


def test_a_long_user_is_cut() -> None:
    """Names are shown; a hostile one is not a page."""
    user = read_sasl_user(b"\0" + b"a" * 300 + b"\0pw", "PLAIN")
    assert user == "a" * 256 + "…"


def test_a_connection_keeps_its_first_user() -> None:
    """One that authenticates again must be the same."""
    other, connection = make_connection(), make_connection()
    note_mechanism(other, "no mechanism")
    assert other.sasl_mechanism is None
    note_mechanism(connection, "PLAIN")
    note_token(connection, b"\0alice\0pw")
    note_mechanism(connection, "SCRAM-SHA-256")
    note_token(connection, b"\0bob\0pw")

    assert (connection.sasl_mechanism, connection.sasl_user) == ("PLAIN", "alice")
