import sys
from base64 import urlsafe_b64decode, urlsafe_b64encode
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kdiag.clock import ManualClock
from kdiag.net.sasl.mechanism import SaslError
from kdiag.net.sasl.tokens import (
    CommandToken,
    FileToken,
    LiteralToken,
    UnsecuredToken,
    expiry_ns,
)
from tiers.cases import for_each

NS_PER_S = 1_000_000_000
NOW_NS = 1_300_000_000 * NS_PER_S
JWT = (
    "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9"
    ".eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFt"
    "cGxlLmNvbS9pc19yb290Ijp0cnVlfQ.dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
)
"""The example of RFC 7519, section 3.1: it expires at 1300819380."""


def jwt_of(claims: object) -> str:
    """Return a token with these claims."""
    body = urlsafe_b64encode(msgspec.json.encode(claims)).decode().rstrip("=")
    return f"e30.{body}.c2ln"


def claims_of(token: str) -> dict[str, Any]:
    """Return the claims of a token."""
    header, body, signature = token.split(".")
    assert urlsafe_b64decode(header + "==") == b'{"alg":"none"}'
    assert signature == ""
    claims: dict[str, Any] = msgspec.json.decode(urlsafe_b64decode(body + "=="))
    return claims


def printing(text: str, clock: ManualClock | None = None, log: Path | None = None) -> CommandToken:
    """Return the source that is a command which prints a text, and adds a line to a log."""
    program = f"print({text!r})"
    if log is not None:
        program += f"; open({str(log)!r}, 'a').write('run\\n')"
    command = [sys.executable, "-S", "-c", program]
    return CommandToken(command, 30 * NS_PER_S, clock or ManualClock(NOW_NS))


def test_the_expiry_of_a_jwt_is_read_from_its_claims() -> None:
    """The signature is the broker's business."""
    assert expiry_ns(JWT) == 1_300_819_380 * NS_PER_S
    assert expiry_ns(jwt_of({"exp": 12.5})) == 12_500_000_000


@for_each(
    "claims", [{}, [], {"exp": "1"}, {"exp": True}, {"exp": -1}, {"exp": 1e300}, {"exp": None}]
)
def test_a_jwt_without_a_sensible_expiry_has_none(claims: object) -> None:
    """What cannot be a date is passed over."""
    assert expiry_ns(jwt_of(claims)) is None


@pytest.mark.thorough
@given(st.text(max_size=40) | st.binary(max_size=40).map(lambda data: f"a.{data.hex()}.b"))
def test_any_text_may_be_asked_for_its_expiry(token: str) -> None:
    """An opaque token has none."""
    assert expiry_ns(token) is None


def test_a_literal_token_loses_the_white_space_around_it() -> None:
    """It often comes out of a shell with a line feed."""
    assert LiteralToken(f"{JWT}\n").token() == JWT


@for_each("text", ["Bearer abc", '"abc"', '{"access_token": 1}', "ab\x01host=x"])
def test_what_cannot_be_a_token_is_refused_without_being_repeated(text: str) -> None:
    """A stray 0x01 would let a token smuggle in other fields."""
    with pytest.raises(SaslError, match="characters that no bearer token has") as raised:
        LiteralToken(text).token()
    assert text not in str(raised.value)


def test_a_token_file_is_read_each_time(tmp_path: Path) -> None:
    """Something else keeps it fresh."""
    file = tmp_path / "token"
    source = FileToken(file)
    file.write_text("one\n")
    assert source.token() == "one"
    file.write_text("two\n")
    assert source.token() == "two"


def test_a_token_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    """The error is the system's."""
    with pytest.raises(SaslError, match=r"token file .*/missing: No such file or directory"):
        FileToken(tmp_path / "missing").token()
    with pytest.raises(SaslError, match="Is a directory"):
        FileToken(tmp_path).token()


def test_an_empty_or_endless_token_file_holds_no_token(tmp_path: Path) -> None:
    """No more than half a megabyte is read."""
    file = tmp_path / "token"
    file.write_text(" \n")
    with pytest.raises(SaslError, match="token is empty"):
        FileToken(file).token()
    file.write_text("x" * 600_000)
    with pytest.raises(SaslError, match="longer than 524288 bytes"):
        FileToken(file).token()


@pytest.mark.thorough
def test_a_command_gives_the_token_that_it_prints() -> None:
    """No shell is involved: what it would expand is passed as it is."""
    assert printing("abc.def").token() == "abc.def"
    with pytest.raises(SaslError, match="characters"):
        printing("$HOME").token()


@pytest.mark.thorough
def test_a_command_runs_again_when_its_jwt_is_about_to_expire(tmp_path: Path) -> None:
    """A minute before that it is no longer used."""
    log = tmp_path / "log"
    clock = ManualClock(NOW_NS)
    source = printing(jwt_of({"exp": 1_300_000_100}), clock, log)
    tokens = {source.token(), source.token()}
    assert log.read_text() == "run\n"
    clock.advance(41 * NS_PER_S)
    tokens.add(source.token())
    assert log.read_text() == "run\nrun\n"
    assert len(tokens) == 1


@pytest.mark.thorough
def test_a_command_runs_each_time_for_a_token_that_does_not_tell_its_expiry(
    tmp_path: Path,
) -> None:
    """An opaque token may be worthless the next moment."""
    log = tmp_path / "log"
    source = printing("opaque", log=log)
    assert [source.token(), source.token()] == ["opaque", "opaque"]
    assert log.read_text() == "run\nrun\n"


@pytest.mark.thorough
@for_each(
    ("command", "why"),
    [
        (["/nowhere/get-token", "--secret", "s3cret"], "get-token: No such file or directory"),
        (["sh", "-c", "echo s3cret; exit 3"], "sh ended with status 3"),
        (["sh", "-c", "exec sleep 60", "s3cret"], r"sh took more than 0\.05 s"),
        (["sh", "s3cret\0"], "sh: its arguments cannot be passed"),
    ],
)
def test_a_command_that_fails_is_named_without_arguments_and_output(
    command: list[str], why: str
) -> None:
    """Both may hold secrets."""
    timeout_ns = NS_PER_S // 20 if "sleep" in str(command) else 30 * NS_PER_S
    source = CommandToken(command, timeout_ns, ManualClock())
    with pytest.raises(SaslError, match=why) as raised:
        source.token()
    assert "s3cret" not in f"{raised.value} {source!r}"


def test_a_command_has_a_program() -> None:
    """An empty one cannot be run."""
    with pytest.raises(ValueError, match="at least a program"):
        CommandToken([], NS_PER_S, ManualClock())


def test_an_unsecured_token_claims_what_kafkas_options_say() -> None:
    """The options are those of OAuthBearerLoginModule; others beside them mean nothing."""
    options = {
        "unsecuredLoginStringClaim_sub": 'al"ice',
        "unsecuredLoginNumberClaim_level": "7",
        "unsecuredLoginListClaim_scope": "|read|write",
        "unsecuredLoginListClaim_none": "|",
        "unsecuredLoginLifetimeSeconds": "60",
        "unsecuredLoginExtension_traceId": "123",
        "refreshWindow": "x",
    }
    token = UnsecuredToken(options, ManualClock(NOW_NS + 500_000_000)).token()
    assert claims_of(token) == {
        "iat": 1_300_000_000.5,
        "exp": 1_300_000_060.5,
        "sub": 'al"ice',
        "level": 7,
        "scope": ["read", "write"],
        "none": [],
    }
    assert expiry_ns(token) == 1_300_000_060_500_000_000


def test_an_unsecured_token_holds_an_hour_from_when_it_is_made() -> None:
    """Kafka's default; each token is new."""
    clock = ManualClock(NOW_NS)
    source = UnsecuredToken({"unsecuredLoginStringClaim_sub": "alice"}, clock)
    clock.advance(5 * NS_PER_S)
    assert claims_of(source.token())["exp"] == 1_300_003_605


@for_each(
    ("options", "why"),
    [
        ({}, "unsecuredLoginStringClaim_sub is missing"),
        ({"PrincipalClaimName": "user"}, "unsecuredLoginStringClaim_user is missing"),
        ({"LifetimeSeconds": "1h"}, "unsecuredLoginLifetimeSeconds: .* not '1h'"),
        ({"LifetimeSeconds": "9" * 400}, "unsecuredLoginLifetimeSeconds: .* not '9+'"),
        ({"StringClaim_n": "\ud800"}, "surrogates not allowed"),
        ({"NumberClaim_n": "many"}, "unsecuredLoginNumberClaim_n: .* not 'many'"),
        ({"NumberClaim_n": "nan"}, "unsecuredLoginNumberClaim_n: .* not 'nan'"),
        ({"StringClaim_exp": "0"}, "unsecuredLoginStringClaim_exp: this claim is computed"),
    ],
)
def test_options_that_cannot_be_are_named(options: dict[str, str], why: str) -> None:
    """A token is not made from a guess."""
    given = {f"unsecuredLogin{name}": value for name, value in options.items()}
    if "missing" not in why:
        given["unsecuredLoginStringClaim_sub"] = "alice"
    with pytest.raises(ValueError, match=why):
        UnsecuredToken(given, ManualClock())


def test_no_source_shows_its_token() -> None:
    """What is printed of one tells where it comes from."""
    sources = [LiteralToken("s3cret"), FileToken(Path("/run/token")), printing("s3cret")]
    assert "s3cret" not in repr(sources)
    assert "/run/token" in repr(sources)
    unsecured = UnsecuredToken({"unsecuredLoginStringClaim_sub": "alice"}, ManualClock())
    assert "alice" in repr(unsecured)
