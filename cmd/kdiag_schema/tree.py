"""All files that Kafka's schemas make, and how they get into the repository."""

import subprocess
import sys
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Final

from kdiag_schema.class_source import snake_case
from kdiag_schema.merge import merge_message
from kdiag_schema.module_source import (
    api_module,
    api_name,
    header_module,
    internal_module,
    lacking_purposes,
    record_module,
)
from kdiag_schema.release import Release
from kdiag_schema.table_source import api_keys_source, api_table_source, record_table_source

API: Final = "kdiag/wire/api"
API_KEYS: Final = "kdiag/wire/api_keys.py"
INTERNAL: Final = "kdiag/wire/internal"
FIRST_PARTY: Final = 'lint.isort.known-first-party=["kdiag"]'
"""Below another folder than the repository's, ruff cannot see that kdiag is ours."""


def tree_of(releases: Sequence[Release]) -> dict[str, str]:
    """Return the source of every file by its path in the repository, not yet formatted.

    Args:
        releases: the releases to merge, oldest first.

    Raises:
        ValueError: if APIs or internal messages have no sentence yet, or releases contradict.
    """
    names = sorted({name for release in releases for name in release.messages})
    messages = [merge_message([each.messages.get(name) for each in releases]) for name in names]
    responses = {each.number: each for each in messages if each.kind == "response"}
    requests = [each for each in messages if each.kind == "request"]
    requests.sort(key=lambda each: each.number or 0)
    headers = [each for each in messages if each.kind == "header"]
    internal = [each for each in messages if each.kind not in {"request", "response", "header"}]
    internal.sort(key=lambda each: (record_module(each), each.name))
    if lacking := lacking_purposes(requests, internal):
        raise ValueError(f"write a sentence for each of these first: {'; '.join(lacking)}")
    tree = {
        f"{API}/{snake_case(api_name(each))}.py": api_module(each, responses[each.number])
        for each in requests
    }
    tree |= {f"{API}/{snake_case(each.name)}.py": header_module(each) for each in headers}
    for module, group in groupby(internal, record_module):
        tree[f"{INTERNAL}/{module}.py"] = internal_module(list(group))
    tree[API_KEYS] = api_keys_source(requests)
    tree[f"{API}/table.py"] = api_table_source(requests, releases[-1].version)
    tree[f"{INTERNAL}/table.py"] = record_table_source(internal)
    return tree


def write_tree(tree: dict[str, str], into: Path) -> None:
    """Write the files below a folder, remove those that are no longer made, and format them.

    Raises:
        subprocess.CalledProcessError: if ruff refuses the source; it has said why.
    """
    for folder in (API, INTERNAL):
        (into / folder).mkdir(parents=True, exist_ok=True)
        for old in (into / folder).glob("*.py"):
            if f"{folder}/{old.name}" not in tree and old.name != "__init__.py":
                old.unlink()
    for path, source in tree.items():
        (into / path).parent.mkdir(parents=True, exist_ok=True)
        (into / path).write_text(source)
    _run_ruff("check", "-q", "--select=I", "--fix", f"--config={FIRST_PARTY}", *tree, cwd=into)
    _run_ruff("format", "-q", *tree, cwd=into)


def _run_ruff(command: str, *arguments: str, cwd: Path) -> None:
    """Run ruff with the repository's settings, wherever the files lie."""
    config = Path(__file__).parents[2] / "pyproject.toml"
    subprocess.run(  # noqa: S603 - our own files
        [sys.executable, "-m", "ruff", command, "--no-cache", f"--config={config}", *arguments],
        cwd=cwd,
        check=True,
    )
