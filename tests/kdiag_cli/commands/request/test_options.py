import io
import sys
from pathlib import Path

import pytest
import typer

from kdiag_cli.commands.request.options import check_version, read_json
from kdiag_cli.options.apis import read_api
from tiers.cases import for_each

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


@for_each(
    ("text", "why"),
    [
        ("{a}", r"the argument is not JSON: line 1, column 2: Expecting property name"),
        ("[]", r"the argument must be an object"),
        ("@missing.json", r"missing.json cannot be read: No such file"),
        ("[" * 100_000, r"the argument is not JSON: maximum recursion"),
        ('{"a": ' + "1" * 5000 + "}", r"the argument is not JSON: Exceeds the limit"),
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
    with pytest.raises(typer.BadParameter, match=r"request\.json is not JSON"):
        read_json(f"@{file}")
