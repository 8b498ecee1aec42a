"""How tests are collected without reading more than need be, and no file twice.

Pytest rewrites the assertions of each file that it reads and caches the result, which takes most of
the time of collecting. Two workers that begin together at the first file both rewrite all of them.
So every other worker begins at the last one:

    gw0    a b c ...        rewrites a, b, c   and finds d, e, f in the cache
    gw1            ... d e f    rewrites f, e, d   and finds c, b, a there

A run of `real` tests alone reads only files that have such, and one without them none that has only
such.

What is collected lives as long as the run. So the garbage collector looks at none of it, neither
while it comes nor later: that took a twelfth of the CPU time of small tests.
"""

import gc
import os
from collections.abc import Generator
from pathlib import Path
from typing import Final

import pytest

_BEGINS_AT_THE_END: Final = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0")[2:]) % 2 == 1
_REAL: Final = "real"
_REAL_MARK: Final = "mark.real"
_USUAL: Final = "not real"
_ONLY_REAL: Final = "\npytestmark = pytest.mark.real\n"


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
        """Leave out a file without `real` tests where only these are wanted, and the reverse."""
        wanted = config.getoption("markexpr")
        is_test = collection_path.suffix == ".py" and collection_path.is_file()
        if wanted not in {_REAL, _USUAL} or not is_test:
            return None
        text = collection_path.read_text()
        is_left_out = _REAL_MARK not in text if wanted == _REAL else _ONLY_REAL in text
        return True if is_left_out else None

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
