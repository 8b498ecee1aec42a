from base64 import urlsafe_b64encode

import pytest

from kdiag.clock import ManualClock
from kdiag.net.sasl.mechanism import SaslError
from kdiag.net.sasl.oauthbearer import OauthBearer
from kdiag.net.sasl.tokens import LiteralToken
from tiers.cases import for_each

NS_PER_S = 1_000_000_000
TOKEN = "vF9dft4qmTc2Nvb3RlckBhbHRhdmlzdGEuY29tCg=="
"""The token of RFC 7628, section 4.1."""


def with_token(token: str = TOKEN, now_s: int = 0) -> OauthBearer:
    """Return the mechanism with a literal token, at a time since 1970."""
    return OauthBearer(LiteralToken(token), ManualClock(now_s * NS_PER_S))


def expiring_at(seconds: int) -> str:
    """Return a token that says when it expires."""
    body = urlsafe_b64encode(f'{{"exp":{seconds}}}'.encode()).decode().rstrip("=")
    return f"e30.{body}.c2ln"


def test_the_token_is_said_as_in_the_rfc() -> None:
    """This is the example of RFC 7628, section 4.1, without the identity that Kafka ignores."""
    extensions = {"host": "server.example.com", "port": "143"}
    mechanism = OauthBearer(LiteralToken(TOKEN), ManualClock(), extensions)
    first = next(mechanism.tokens()).decode()
    head, *pairs = first.split("\x01")
    assert head == "n,,"
    assert pairs[-2:] == ["", ""]
    assert sorted(pairs[:-2]) == [f"auth=Bearer {TOKEN}", "host=server.example.com", "port=143"]


def test_an_empty_answer_is_consent() -> None:
    """The conversation ends with it."""
    talk = with_token().tokens()
    assert next(talk) == f"n,,\x01auth=Bearer {TOKEN}\x01\x01".encode()
    with pytest.raises(StopIteration):
        talk.send(b"")


def test_a_refusal_is_answered_by_a_lone_byte_and_then_told() -> None:
    """RFC 7628, section 3.2.3: the dummy answer lets the server end the conversation."""
    talk = with_token().tokens()
    next(talk)
    assert talk.send(b'{"status":"invalid_token","scope":"kafka"}') == b"\x01"
    with pytest.raises(SaslError, match=r"refused the token.*: invalid_token, scope kafka"):
        talk.send(b"")


@for_each("said", ["no", '{"error": 1}', "[1]", '{"status"', "[" * 5000])
def test_a_refusal_that_is_not_the_rfcs_json_is_repeated(said: str) -> None:
    """A broker's own validator may say anything."""
    assert said[:300] in with_token().explain(said).why


def test_a_token_that_had_expired_is_called_so() -> None:
    """The fix is another token."""
    mechanism = with_token(expiring_at(1_300_000_000), now_s=1_300_000_060)
    next(mechanism.tokens())
    refusal = mechanism.explain('{"status":"invalid_token"}')
    assert refusal.why.endswith("it expired at 2011-03-13T07:06:40Z, 60 s before now")
    assert refusal.fix == "Get a new token"


def test_a_token_that_still_holds_was_refused_for_another_reason() -> None:
    """Then issuer and audience are what differs most often."""
    mechanism = with_token(expiring_at(1_300_000_000), now_s=1_299_999_999)
    next(mechanism.tokens())
    refusal = mechanism.explain('{"status":"invalid_token"}')
    assert refusal.why.endswith("it says that it holds until 2011-03-13T07:06:40Z")
    assert "audience" in refusal.fix


@for_each(
    ("name", "value"), [("auth", "x"), ("trace_id", "x"), ("", "x"), ("x", ""), ("x", "a\x01b")]
)
def test_an_extension_that_kafka_would_not_take_is_refused(name: str, value: str) -> None:
    """Names are letters, values are printable (RFC 7628, section 3.1)."""
    with pytest.raises(ValueError, match="SASL extension"):
        OauthBearer(LiteralToken(TOKEN), ManualClock(), {name: value})


def test_the_token_is_never_shown() -> None:
    """Neither in the repr nor in what a refusal says."""
    mechanism = with_token()
    next(mechanism.tokens())
    assert TOKEN not in f"{mechanism!r} {mechanism.explain('no')}"
