"""From what is typed to a request."""

import io
import sys
from pathlib import Path
from typing import Any

import pytest
import typer

from kdiag.errors import EncodeError
from kdiag.wire.catalog import Api
from kdiag.wire.schema import Versions
from kdiag_cli.commands.request.message import (
    check_version,
    read_json,
    read_message,
)
from kdiag_cli.options.apis import read_api

FIND_COORDINATOR = read_api("FindCoordinator")


def test_a_version_that_was_never_is_refused() -> None:
    """None stands for the newest."""
    check_version(FIND_COORDINATOR, 6)
    check_version(FIND_COORDINATOR, None)
    with pytest.raises(typer.BadParameter, match="FindCoordinator has versions 0-6, not 7"):
        check_version(FIND_COORDINATOR, 7)


def test_json_comes_from_the_argument_a_file_or_stdin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without any, every field has its default."""
    file = tmp_path / "request.json"
    file.write_text('{"file": 1}')
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b'{"stdin": 1}')))
    assert [read_json(each) for each in ('{"typed": 1}', f"@{file}", "-", None)] == [
        {"typed": 1},
        {"file": 1},
        {"stdin": 1},
        {},
    ]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{a}", r"the argument is no JSON: line 1, column 2: Expecting property name"),
        ("[]", r"the argument must be an object"),
        ("@missing.json", r"missing.json cannot be read: No such file"),
        ("[" * 100_000, r"the argument is no JSON: maximum recursion"),
        ('{"a": ' + "1" * 5000 + "}", r"the argument is no JSON: Exceeds the limit"),
    ],
)
def test_what_is_no_json_is_refused(text: str, why: str) -> None:
    """With the place of the mistake."""
    with pytest.raises(typer.BadParameter, match=why):
        read_json(text)


def test_a_file_that_is_not_text_is_refused(tmp_path: Path) -> None:
    """Its name is told."""
    file = tmp_path / "request.json"
    file.write_bytes(b"\xff\xfe{")
    with pytest.raises(typer.BadParameter, match=r"request\.json is no JSON"):
        read_json(f"@{file}")


@pytest.mark.parametrize(
    ("form", "versions"),
    [
        ({}, Versions(0, 6)),
        ({"keyType": 1}, Versions(1, 6)),
        ({"key": "orders"}, Versions(0, 3)),
        ({"coordinatorKeys": ["orders"]}, Versions(4, 6)),
        ({"_unknownTaggedFields": [{"tag": 9, "data": ""}]}, Versions(3, 6)),
    ],
)
def test_the_versions_are_those_that_have_the_fields(
    form: dict[str, Any], versions: Versions
) -> None:
    """So nobody has to know that FindCoordinator had one key until version 3."""
    message = read_message(FIND_COORDINATOR, form, None)
    assert message.versions == versions
    assert message.builder.versions == versions


def test_api_versions_names_the_client_as_brokers_demand() -> None:
    """Unless the request does so itself."""
    api = read_api("ApiVersions")
    built: Any = read_message(api, {}, None).build(3)
    assert built.client_software_name == "kdiag"
    built = read_message(api, {"clientSoftwareName": "me"}, None).build(3)
    assert built.client_software_name == "me"
    assert read_message(api, {}, None).build(0) == api.request_class()()


def test_the_version_that_is_given_is_the_only_one() -> None:
    """What it does not have is refused, though others have it."""
    assert read_message(FIND_COORDINATOR, {"key": "a"}, 2).versions == Versions(2, 2)
    with pytest.raises(EncodeError, match="key: version 6 has no such field, versions 0-3 have it"):
        read_message(FIND_COORDINATOR, {"key": "a"}, 6)


@pytest.mark.parametrize(
    ("api", "form", "why"),
    [
        (
            FIND_COORDINATOR,
            {"keytype": 0},
            "keytype: version 6 has no such field; did you mean keyT",
        ),
        (FIND_COORDINATOR, {"keyType": 300}, "keyType: 300 is no int8"),
        (FIND_COORDINATOR, {"key": "a", "coordinatorKeys": []}, "key: version 6 has no such field"),
        (read_api("Metadata"), {"topics": [{"name": 5}]}, r"topics\[0\].name: expected string"),
    ],
)
def test_what_no_version_can_say_is_refused(api: Api, form: dict[str, Any], why: str) -> None:
    """In the words of the newest."""
    with pytest.raises(EncodeError, match=why):
        read_message(api, form, None)
