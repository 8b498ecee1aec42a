"""Which records `kdiag tail` prints: by kind, key, header, content and time."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from kdiag.errors import ConfigError
from kdiag.probe.tail.record_runs import RecordRun
from kdiag.wire.records.record import Header


class RecordFilter(NamedTuple):
    """The conditions that a record must meet, all of them.

    Attributes:
        shows_aborted: whether records of aborted transactions are printed.
        shows_control: whether control records are printed.
        pattern: must be found in key or value; None for any record.
        keys: the key must be one of them; empty for any.
        headers: it must have these headers; a value of None stands for any value.
        before_ms: its timestamp must be smaller; None for any.
    """

    shows_aborted: bool = False
    shows_control: bool = False
    pattern: re.Pattern[str] | None = None
    keys: frozenset[bytes] = frozenset()
    headers: Sequence[tuple[bytes, bytes | None]] = ()
    before_ms: int | None = None

    def shows(self, *, is_control: bool, is_aborted: bool) -> bool:
        """Return whether records of this kind are printed at all."""
        return self.shows_control if is_control else self.shows_aborted or not is_aborted

    def choose(self, run: RecordRun) -> RecordRun:
        """Return the records that are to be printed."""
        origin = run.origin
        if not self.shows(is_control=origin.is_control, is_aborted=origin.is_aborted):
            return run._replace(columns=run.columns.only([]))
        if self.takes_all:
            return run
        return run._replace(columns=run.columns.only(self._rows(run)))

    @property
    def takes_all(self) -> bool:
        """Return whether the contents of records do not matter."""
        return not (self.pattern or self.keys or self.headers or self.before_ms is not None)

    def _rows(self, run: RecordRun) -> Sequence[int]:
        cells = run.columns
        rows: Sequence[int] = range(len(cells))
        if self.before_ms is not None:
            timestamps = cells.timestamps()
            rows = [row for row in rows if timestamps[row] < self.before_ms]
        if self.keys:
            keys = cells.keys()
            rows = [row for row in rows if keys[row] in self.keys]
        if self.headers:
            headers = cells.headers()
            rows = [row for row in rows if self._has_headers(headers[row])]
        if self.pattern is not None:
            keys, values = cells.keys(), cells.values()
            rows = [row for row in rows if self._found(keys[row]) or self._found(values[row])]
        return rows

    def _found(self, data: bytes | None) -> bool:
        if data is None or self.pattern is None:
            return False
        return self.pattern.search(data.decode("utf-8", "surrogateescape")) is not None

    def _has_headers(self, headers: Sequence[Header]) -> bool:
        return all(
            any(key == name and (wanted is None or value == wanted) for key, value in headers)
            for name, wanted in self.headers
        )


def parse_pattern(text: str | None) -> re.Pattern[str] | None:
    """Return a regular expression.

    Raises:
        ConfigError: if it is not a regular expression.
    """
    if text is None:
        return None
    try:
        return re.compile(text)
    except re.error as error:
        raise ConfigError(text, "--grep", f"not a regular expression: {error}") from None


def parse_header(text: str) -> tuple[bytes, bytes | None]:
    """Return key and value of `K=V`; of `K` alone, which stands for any value, the key and None."""
    key, equals, value = text.encode("utf-8", "surrogateescape").partition(b"=")
    return key, value if equals else None
