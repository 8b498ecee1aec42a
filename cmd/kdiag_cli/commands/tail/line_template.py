r"""Lines about records, made column by column.

A template is texts and columns in turns. A column makes, of a whole run of records, what stands in
its place: texts that are the same for all of them, and lists with a piece for each. The pieces are
put together by one `%` for each record, so that no code of Python's runs for it:

    b"orders[0]@", offsets, b" ", values, b"\n"
    run of offsets 7 and 8, values `a` and `b`
    fmt = b"orders[0]@%b %b\\n";  fmt % (b"7", b"a") + fmt % (b"8", b"b")
"""

from collections.abc import Callable, Sequence

import msgspec

from kdiag.probe.tail.record_runs import RecordRun

Piece = bytes | list[bytes]
"""Bytes for all records of a run, or one for each."""

Column = Callable[[RecordRun], Sequence[Piece]]

_encode = msgspec.json.Encoder().encode


class LineTemplate:
    """Makes lines out of runs of records.

    Attributes:
        only_values: whether its columns look at nothing but values.
    """

    def __init__(self, parts: Sequence[bytes | Column], *, only_values: bool = False) -> None:
        """Join parts to a line, with the line feed at its end."""
        self.only_values = only_values
        self._parts = parts

    def lines(self, run: RecordRun) -> bytes:
        """Return the lines of a run, one after the other."""
        fixed, columns = [b""], []
        for piece in self._pieces(run):
            if isinstance(piece, bytes):
                fixed[-1] += piece
            else:
                columns.append(piece)
                fixed.append(b"")
        if not columns:
            return fixed[0] * len(run.columns)
        if len(columns) == 1 and not fixed[0] and fixed[1]:
            return fixed[1].join(columns[0]) + fixed[1]  # such as values, a line each
        line = b"%b".join(text.replace(b"%", b"%%") for text in fixed)
        return b"".join(map(line.__mod__, zip(*columns, strict=True)))

    def _pieces(self, run: RecordRun) -> list[Piece]:
        pieces: list[Piece] = []
        for part in self._parts:
            if isinstance(part, bytes):
                pieces.append(part)
            else:
                pieces += part(run)
        return pieces


def numbers(values: Sequence[int]) -> list[bytes]:
    """Return numbers in decimal: five times as fast as one by one."""
    return _encode(values)[1:-1].split(b",")


def topic(run: RecordRun) -> Sequence[Piece]:
    """Return the topic."""
    return (run.origin.key.topic.encode(),)


def partition(run: RecordRun) -> Sequence[Piece]:
    """Return the partition."""
    return (b"%d" % run.origin.key.partition,)


def leader_epoch(run: RecordRun) -> Sequence[Piece]:
    """Return the leader epoch of the batches."""
    return (b"%d" % run.origin.leader_epoch,)


def offset(run: RecordRun) -> Sequence[Piece]:
    """Return the offsets."""
    return (numbers(run.columns.offsets()),)


def timestamp(run: RecordRun) -> Sequence[Piece]:
    """Return the timestamps in milliseconds since 1970."""
    return (numbers(run.columns.timestamps()),)
