import io
import sys
from typing import Any

import pytest
import typer

from kdiag.findings.rule import Severity
from kdiag.wire.coordinator_partition import CoordinatorKind
from kdiag_cli.commands.find_coordinator.options import (
    FindCoordinatorOptions,
    all_names,
    check,
)
from tiers.cases import for_each

DEFAULTS = FindCoordinatorOptions(
    names=["orders"],
    is_transactional=False,
    is_share=False,
    is_watching=False,
    interval_ns=1_000_000_000,
    looks=None,
    shows_moves=False,
    fail_on=Severity.ERROR,
    has_headers=True,
)


@for_each(
    ("changes", "kind"),
    [
        ({}, CoordinatorKind.GROUP),
        ({"is_transactional": True}, CoordinatorKind.TRANSACTION),
        ({"is_share": True}, CoordinatorKind.SHARE),
        ({"names": [], "shows_moves": True}, CoordinatorKind.GROUP),
    ],
)
def test_names_are_of_one_kind(changes: dict[str, Any], kind: CoordinatorKind) -> None:
    """Groups, unless an option says otherwise."""
    options = DEFAULTS._replace(**changes)
    check(options)
    assert options.kind is kind


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"is_transactional": True, "is_share": True}, "choose one of --txn and --share"),
        ({"shows_moves": True}, "or --moves alone"),
        ({"names": []}, "give names"),
    ],
)
def test_contradictions_are_refused(changes: dict[str, Any], why: str) -> None:
    """Before anybody is asked."""
    with pytest.raises(typer.BadParameter, match=why):
        check(DEFAULTS._replace(**changes))


def test_a_hyphen_stands_for_the_lines_of_stdin(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every name counts once; empty lines are none."""
    monkeypatch.setattr(sys, "stdin", io.StringIO("a\n\nb\na\n"))
    assert all_names(["x", "-", "b"]) == ["x", "a", "b"]
