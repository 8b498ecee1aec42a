"""Passwords and proofs of recorded logins, searched for in everything that kdiag makes of them.

The captures are those with SASL, whole and with damage in front of the secrets. Every form of
output is searched for each secret: raw, in hex, and in base64 at its three alignments.
"""

import os
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from folders import CAPTURES, TLS_CAPTURES
from kdiag.exchange.dissection import Dissection
from kdiag.exchange.model import Exchange
from kdiag.pcap.decoder import decode_capture
from kdiag.pcap.tls.keylog import KeyLog
from kdiag.wire import api_keys
from made_values.damaged_logins import (
    PASSWORD,
    conversation,
    damaged_plain,
    forms_of,
    login,
    secret_in,
    with_damage,
)
from programs.kdiag_program import kdiag
from recordings.exchange_maker import capture_of

ALL: Final = 2_000
SOME: Final = 12
_LARGEST_BYTES: Final = 400_000
_LITTLE_ENDIAN: Final = (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1")
_CHEAP: Final[tuple[tuple[str, ...], ...]] = (
    ("decode", "{}"),
    ("decode", "{}", "-o", "jsonl"),
    ("decode", "{}", "-o", "csv"),
    ("decode", "{}", "--summary"),
)
_DEAR: Final[tuple[tuple[str, ...], ...]] = (
    ("decode", "{}", "-o", "json"),
    ("decode", "{}", "-o", "jsonl", "--raw"),
    ("decode", "{}", "-o", "jsonl", "--values"),
    ("decode", "{}", "--summary", "-o", "json"),
    ("decode", "{}", "--errors"),
    ("report", "clients", "{}", "-o", "csv"),
    ("report", "errors", "{}", "-o", "json"),
    ("query", "{}", "SELECT * FROM exchanges", "-o", "csv"),
    ("query", "{}", "SELECT * FROM connections", "-o", "json"),
)


class Login(NamedTuple):
    """A capture with logins.

    Attributes:
        name: of it.
        file: where it is; None if it is made.
        data: its bytes.
        secrets: the passwords and proofs in it.
    """

    name: str
    file: Path | None
    data: bytes
    secrets: tuple[bytes, ...]


@cache
def logins() -> list[Login]:
    """Return the captures with SASL: made, shipped, and those of the reference."""
    made = [
        Login(f"made {version}", None, capture_of(conversation(login(version))), (PASSWORD,))
        for version in (0, 1, 2)
    ]
    folders = [CAPTURES, TLS_CAPTURES]
    if "KDIAG_REFERENCE" in os.environ:
        folders.append(Path(os.environ["KDIAG_REFERENCE"], "captures"))
    files = [each for folder in folders for each in sorted(folder.glob("*sasl*.pcap"))]
    found = [Login(each.stem, each, each.read_bytes(), secrets_of(each)) for each in files]
    return made + [each for each in found if each.secrets]


def secrets_of(file: Path) -> tuple[bytes, ...]:
    """Return the secrets in the tokens of a capture."""
    keys = file.with_suffix(".keylog")
    keylog = KeyLog.parse(keys.read_bytes()) if keys.exists() else None
    secrets = []
    for item in decode_capture([file], keylog=keylog):
        if isinstance(item, Exchange) and item.api_key == api_keys.SASL_AUTHENTICATE:
            request = Dissection(item).request
            if request is not None and request.message is not None:
                secrets.append(secret_in(bytes(request.message.auth_bytes)))
    return tuple(dict.fromkeys(each for each in secrets if each and len(each) >= 6))


def leaks(file: Path, secrets: tuple[bytes, ...], *, is_thorough: bool) -> list[str]:
    """Return the forms of output in which a secret of a capture is."""
    patterns = [forms_of(each) for each in secrets]
    keys = file.with_suffix(".keylog")
    more = ["--keylog", str(keys)] if keys.exists() else []
    out = file.with_name("masked.pcap")
    found = []

    def look(name: str, data: bytes) -> None:
        if any(each.search(data) for each in patterns):
            found.append(name)

    commands = [*_CHEAP, *(_DEAR if is_thorough else ())]
    count = 0
    for command in commands:
        done = kdiag(*(each.replace("{}", str(file)) for each in command), *more)
        look(" ".join(command), (done.out + done.err).encode())
        if command == _CHEAP[1]:
            count = done.out.count('"kind":"exchange"')
    for number in range(1, min(count, 12) + 1) if is_thorough else ():
        for option in ("--show", "--explain"):
            done = kdiag("decode", file, option, number, *more)
            look(f"{option} {number}", (done.out + done.err).encode())
    if not more:  # what is encrypted is written as it is
        kdiag("decode", file, "--write", out)
        look("--write", out.read_bytes() if out.exists() else b"")
        out.unlink(missing_ok=True)
    return found


def check_some(folder: Path, numbers: range, *, every: int) -> None:
    """Look for secrets in mutations of the captures, each in turn."""
    usable = [
        each
        for each in logins()
        if each.data[:4] in _LITTLE_ENDIAN
        and len(each.data) <= _LARGEST_BYTES
        and any(secret in each.data for secret in each.secrets)
    ]
    failed: list[Any] = []
    for number in numbers:
        capture = usable[number % len(usable)]
        data = capture.data
        for secret in capture.secrets:
            data = with_damage(data, secret, number)
        file = folder / "damaged.pcap"
        file.write_bytes(data)
        found = leaks(file, capture.secrets, is_thorough=number % every == 0)
        if found:
            failed.append((number, capture.name, found))
    assert failed == []


@pytest.mark.thorough
@pytest.mark.sampled(3)
@pytest.mark.parametrize("login_", logins(), ids=lambda each: each.name)
def test_no_form_of_output_has_a_secret_of_a_recorded_login(login_: Login, tmp_path: Path) -> None:
    """Everything else of the login is there."""
    file = tmp_path / "login.pcap"
    file.write_bytes(login_.data)
    keys = None if login_.file is None else login_.file.with_suffix(".keylog")
    if keys is not None and keys.exists():
        file.with_suffix(".keylog").write_bytes(keys.read_bytes())

    assert leaks(file, login_.secrets, is_thorough=True) == []


@pytest.mark.thorough
def test_no_form_of_output_has_a_secret_of_a_damaged_login(tmp_path: Path) -> None:
    """Some mutations, and those that are known to mislead."""
    check_some(tmp_path, range(SOME), every=10)
    file = tmp_path / "known.pcap"
    for name, data in damaged_plain():
        file.write_bytes(capture_of(conversation(data)))
        assert leaks(file, (PASSWORD,), is_thorough=False) == [], name


@pytest.mark.soak
@pytest.mark.parametrize("part", range(20))
def test_no_form_of_output_has_a_secret_of_many_damaged_logins(part: int, tmp_path: Path) -> None:
    """All mutations."""
    size = ALL // 20
    check_some(tmp_path, range(part * size, (part + 1) * size), every=5)
