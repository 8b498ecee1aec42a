"""Which records `kdiag tail` prints: by kind, key, header, content and time."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from kdiag.errors import ConfigError
from kdiag.probe.tail.record_runs import RecordRun
from kdiag.wire.records.record import Header


class RecordFilter(NamedTuple):
    """What a record must be like; all of it.

    Attributes:
        shows_aborted: whether records of aborted transactions are printed.
        shows_control: whether control records are.
        pattern: found in key or value; None if anything will do.
        keys: the key is one of them; none if any will do.
        headers: key and value of headers that it has; the value may be None for any.
        before_ms: its timestamp is smaller; None for any.
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
        """Return whether no record is left out for what is in it."""
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
        ConfigError: if it is none.
    """
    if text is None:
        return None
    try:
        return re.compile(text)
    except re.error as error:
        raise ConfigError(text, "--grep", f"no regular expression: {error}") from None


def parse_header(text: str) -> tuple[bytes, bytes | None]:
    """Return what `K=V` asks for, or `K` alone, which asks for any value."""
    key, equals, value = text.encode("utf-8", "surrogateescape").partition(b"=")
    return key, value if equals else None
