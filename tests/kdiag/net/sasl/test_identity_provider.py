import socket
import ssl
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from kdiag.clock import NS_PER_S, ManualClock
from kdiag.net.sasl.identity_provider import ClientCredentials, ProviderToken
from kdiag.net.sasl.mechanism import SaslError
from secure_ends.certificates import make_authority
from secure_ends.token_issuer import Answer, TokenIssuer

NOW_NS = 1_300_000_000 * NS_PER_S
SECRET = "s3cret:"
JWT = "e30.eyJleHAiOjEzMDAwMDAwOTB9.c2ln"
"""It expires 90 s after NOW_NS."""


@pytest.fixture
def issuer() -> Iterator[TokenIssuer]:
    """Yield a provider."""
    with TokenIssuer() as running:
        yield running


def source(url: str, clock: ManualClock | None = None, **more: str) -> ProviderToken:
    """Return the source of a client that the provider knows."""
    credentials = ClientCredentials(url, "kdiag", SECRET, **more)
    return ProviderToken(credentials, 20 * NS_PER_S, clock or ManualClock(NOW_NS))


def test_a_token_is_asked_for_as_kafkas_clients_do(issuer: TokenIssuer) -> None:
    """With the client's id and secret in a header, and the scope in a form."""
    assert source(issuer.url, scope="a b").token() == "opaque-1"

    (asked,) = issuer.asked
    assert (asked.path, asked.pair) == ("/oauth2/token", f"kdiag:{SECRET}")
    assert asked.fields == {"grant_type": ["client_credentials"], "scope": ["a b"]}


@pytest.mark.thorough
def test_a_token_is_used_again_while_it_is_fresh(issuer: TokenIssuer) -> None:
    """By `expires_in`, or by the token itself; one that tells nothing is used once."""
    clock = ManualClock(NOW_NS)
    tokens = source(issuer.url, clock)
    for seconds, asked in ((0, 1), (3500, 1), (100, 2)):
        clock.advance(seconds * NS_PER_S)
        tokens.token()
        assert len(issuer.asked) == asked

    issuer.answer = lambda: Answer(body=msgspec.json.encode({"access_token": JWT}))
    fresh = source(issuer.url, clock := ManualClock(NOW_NS))
    assert [fresh.token(), fresh.token()] == [JWT] * 2
    assert len(issuer.asked) == 3
    clock.advance(31 * NS_PER_S)
    fresh.token()
    assert len(issuer.asked) == 4

    issuer.answer = lambda: Answer(body=b'{"id_token": "once", "expires_in": true}')
    once = source(issuer.url)
    assert [once.token(), once.token()] == ["once"] * 2
    assert len(issuer.asked) == 6


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("answer", "why", "fix"),
    [
        (Answer(503, b"<html>"), "HTTP 503", "can be reached"),
        (Answer(400, b'{"error": "invalid_scope"}'), "HTTP 400 (invalid_scope)", "Compare client"),
        (Answer(302, b"", "https://login/"), "HTTP 302: go to https://login/", "endpoint itself"),
        (Answer(200, b"<html>"), "something that is no JSON object", "endpoint itself"),
        (Answer(200, b"[1]"), "something that is no JSON object", "endpoint itself"),
        (Answer(200, b'{"a": 1}'), "without access_token, but with a", "endpoint itself"),
        (Answer(200, b'{"access_token": "a b"}'), "no bearer token has", "access token alone"),
    ],
)
def test_an_answer_without_a_token_is_told(
    issuer: TokenIssuer, answer: Answer, why: str, fix: str
) -> None:
    """What the provider said, and what to do about it; a redirection is not followed."""
    issuer.answer = lambda: answer
    with pytest.raises(SaslError) as error:
        source(issuer.url).token()

    assert why in error.value.why
    assert issuer.url in error.value.why
    assert fix in error.value.fix
    assert len(issuer.asked) == 1


@pytest.mark.thorough
def test_a_refusal_tells_the_providers_reason_and_no_secret(issuer: TokenIssuer) -> None:
    """Whose client it is, and not its secret, is what people need to see."""
    wrong = ProviderToken(ClientCredentials(issuer.url, "kdiag", "guess"), NS_PER_S, ManualClock())
    with pytest.raises(SaslError) as error:
        wrong.token()

    assert error.value.why.endswith("answered with HTTP 401 (invalid_client: who is that)")
    assert "guess" not in repr(wrong) + error.value.why + error.value.fix
    assert "'kdiag' at http://127.0.0.1" in repr(wrong)


@pytest.mark.thorough
def test_who_cannot_be_reached_is_told() -> None:
    """Nobody listens, or nobody answers; what may be secret in the address is not shown."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        silent = ClientCredentials(f"http://u:p@127.0.0.1:{port}/t?key=s3cret", "kdiag", SECRET)
        with pytest.raises(SaslError, match=r"did not answer in 0\.05 s") as error:
            ProviderToken(silent, NS_PER_S // 20, ManualClock()).token()
    assert f"provider http://127.0.0.1:{port}/t did" in error.value.why
    with pytest.raises(SaslError, match="cannot be reached: Connection refused"):
        source(f"http://127.0.0.1:{port}/t").token()


@pytest.mark.thorough
def test_a_provider_is_trusted_by_its_certificate(tmp_path: Path) -> None:
    """By the system's authorities, or by those of `https.ca.location`."""
    authority = make_authority("provider's authority")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(authority.issue("idp", ips=["127.0.0.1"]).save(tmp_path))
    trusted = tmp_path / "ca.pem"
    trusted.write_text(authority.pem)
    with TokenIssuer(context) as issuer:
        with pytest.raises(SaslError, match="no valid certificate") as error:
            source(issuer.url).token()
        assert "https.ca.location" in error.value.fix
        assert source(issuer.url, ca_file=str(trusted)).token() == "opaque-1"
    with pytest.raises(SaslError, match=r"https\.ca\.location /nowhere: No such file"):
        source(issuer.url, ca_file="/nowhere").token()


@pytest.mark.parametrize("url", ["idp/token", "ftp://idp/token", "https:///token"])
def test_an_address_that_is_none_of_http_is_refused(url: str) -> None:
    """Before anything is sent."""
    with pytest.raises(ValueError, match="expected the address of a token endpoint"):
        source(url)
