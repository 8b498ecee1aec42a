"""How tests are collected without reading more than need be, and no file twice.

Pytest rewrites the assertions of each file that it reads and caches the result, which takes most of
the time of collecting. Two workers that begin together at the first file both rewrite all of them.
So every other worker begins at the last one:

    gw0    a b c ...        rewrites a, b, c   and finds d, e, f in the cache
    gw1            ... d e f    rewrites f, e, d   and finds c, b, a there

A run of one tier reads only files that have tests of it, and that of quick ones no file whose tests
are all of another.

Where PYTHONDONTWRITEBYTECODE forbids that cache, workers share one in a temporary folder, which
goes with the run.

What is collected lives as long as the run. So the garbage collector looks at none of it, neither
while it comes nor later: that took a twelfth of the CPU time of small tests.
"""

import atexit
import gc
import os
import shutil
import sys
import tempfile
from collections.abc import Generator
from pathlib import Path
from typing import Final

import pytest

from tiers.tier import MARKED, QUICK, THOROUGH

_BEGINS_AT_THE_END: Final = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0")[2:]) % 2 == 1
_PROPERTY: Final = "@given("


def share_bytecode() -> None:
    """Have workers and programs share bytecode where none may be written beside the sources."""
    if not sys.dont_write_bytecode or "PYTEST_XDIST_WORKER" in os.environ:
        return
    folder = tempfile.mkdtemp(prefix="kdiag-bytecode-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ["PYTHONPYCACHEPREFIX"] = sys.pycache_prefix = folder
    sys.dont_write_bytecode = False


class Collection:
    """A plugin that says which files a worker reads, and in which order."""

    @pytest.hookimpl(wrapper=True)
    def pytest_collection(self) -> Generator[None, object, object]:
        """Keep what is collected from the garbage collector."""
        gc.disable()
        try:
            return (yield)
        finally:
            gc.freeze()
            gc.enable()

    def pytest_ignore_collect(self, collection_path: Path, config: pytest.Config) -> bool | None:
        """Leave out a file that has no test of the tier that is wanted."""
        wanted = config.getoption("markexpr")
        is_test = collection_path.suffix == ".py" and collection_path.is_file()
        if wanted not in {QUICK, *MARKED} or not is_test:
            return None
        text = collection_path.read_text()
        if wanted == QUICK:
            return any(f"\npytestmark = pytest.mark.{tier}\n" in text for tier in MARKED) or None
        is_of_tier = f"mark.{wanted}" in text or (wanted == THOROUGH and _PROPERTY in text)
        return None if is_of_tier else True

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(
        self, collector: pytest.Collector
    ) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        """Collect a folder from its end in every other worker."""
        report = yield
        if _BEGINS_AT_THE_END and isinstance(collector, pytest.Dir):
            report.result = [*reversed(report.result or ())]
        return report

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Put the files into the same order in all workers, as pytest-xdist demands."""
        items.sort(key=lambda item: item.nodeid.partition("::")[0])
