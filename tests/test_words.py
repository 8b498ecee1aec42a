"""The texts that users read are plain English: they name who acts, and never `tell`.

Texts are README, CHANGELOG, the help topics, and the strings of the program but for docstrings.
What is not clean yet stands in a list that only shrinks.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from folders import ROOT

AVOIDED: Final = re.compile(
    r"\b(tell|tells|telling|told|nobody|somebody|anybody|everybody)\b"
    r"|come what may|get on from|that is believed|not come to|what was said|has issued",
    re.IGNORECASE,
)
"""Words that hide who does what, and phrases that had to be read twice."""

GENERATED: Final = ("kdiag/wire/api/", "kdiag/wire/internal/")
NOT_CLEAN: Final = frozenset(
    {
        "kdiag/client/group/committed_offsets.py",
        "kdiag/diagnosis/check/acls.py",
        "kdiag/diagnosis/check/cluster.py",
        "kdiag/diagnosis/check/listeners.py",
        "kdiag/diagnosis/groups/subscriptions.py",
        "kdiag/diagnosis/rebalance/classic.py",
        "kdiag/diagnosis/rebalance/epochs.py",
        "kdiag/diagnosis/rebalance/log_histories.py",
        "kdiag/diagnosis/rebalance/records/record_words.py",
        "kdiag/diagnosis/recorded_faults.py",
        "kdiag/diagnosis/tcp/findings.py",
        "kdiag/findings/buffers.py",
        "kdiag/findings/clients.py",
        "kdiag/findings/clusters.py",
        "kdiag/findings/connections.py",
        "kdiag/findings/groups.py",
        "kdiag/findings/rebalances.py",
        "kdiag/findings/tcp.py",
        "kdiag/findings/traffic.py",
        "kdiag/findings/transactions.py",
        "kdiag/lab/fault/fault_key.py",
        "kdiag/probe/tail/open_transactions.py",
        "kdiag/report/tables/batches.py",
        "kdiag/report/tables/exchanges.py",
        "kdiag/report/tables/groups.py",
    }
)
"""Files that still have such words."""


def texts_of(source: str) -> Iterator[tuple[int, str]]:
    """Yield the strings of a module with their lines, but for docstrings and dictionary keys."""
    tree = ast.parse(source)
    described = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
            continue
        if id(node) not in described and not node.value.isidentifier():
            yield node.lineno, node.value


def avoided_in(path: Path) -> list[str]:
    """Return the places of a file where a text has a word that is avoided."""
    source = path.read_text(encoding="utf-8")
    if not AVOIDED.search(source):
        return []
    if path.suffix == ".md":
        texts: Iterator[tuple[int, str]] = iter(enumerate(source.splitlines(), 1))
    else:
        texts = texts_of(source)
    return [
        f"{path.relative_to(ROOT)}:{line}: {found.group()}"
        for line, text in texts
        for found in AVOIDED.finditer(text)
    ]


def files() -> Iterator[Path]:
    """Yield the files that have texts for users."""
    yield from (ROOT / "README.md", ROOT / "CHANGELOG.md")
    yield from (ROOT / "cmd" / "kdiag_cli" / "help").rglob("*.md")
    for folder in ("kdiag", "cmd/kdiag_cli"):
        for path in (ROOT / folder).rglob("*.py"):
            if not str(path.relative_to(ROOT)).startswith(GENERATED):
                yield path


@pytest.mark.thorough
def test_texts_for_users_are_plain() -> None:
    """A text says show, print, report, list or return, and names the member, client or broker."""
    found = {str(path.relative_to(ROOT)): avoided_in(path) for path in files()}
    dirty = {name for name, places in found.items() if places}

    assert {name: found[name] for name in dirty - NOT_CLEAN} == {}
    assert NOT_CLEAN - dirty == set(), "these are clean now: take them off the list"


def test_what_is_avoided_is_found_in_texts_alone() -> None:
    """A docstring and the name of a variable are for developers."""
    source = '"""Nobody reads it."""\nx = 1\n"""Told."""\ntold = f"{x} tells us"\ny = {"told": 1}\n'
    assert [text for _, text in texts_of(source) if AVOIDED.search(text)] == [" tells us"]
    assert not AVOIDED.search("foretold by a teller")
