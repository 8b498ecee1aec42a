"""The options of `kdiag tune-buffers` for live brokers, checked and turned into numbers."""

from pathlib import Path
from typing import Final, NamedTuple

import typer

from kdiag.diagnosis.buffers.facts import LEFT_TO_KERNEL
from kdiag.findings.finding import Severity
from kdiag_cli.commands.decode.options import read_size
from kdiag_cli.options.live import read_timeout_ns

_AUTO: Final = "auto"
_KERNEL: Final = frozenset((_AUTO, "kernel", "-1"))
_LEAST_BYTES: Final = 4 << 10
_MOST_BYTES: Final = 1 << 30
_SIZES: Final = "'--sizes'"


class Said(NamedTuple):
    """What was said about measuring.

    Attributes:
        topic: the topic to use; None for one of kdiag's own.
        reads_only: whether no topic may be made.
        writes_to_topic: whether `topic` may be written to.
        rtt_ns: the round trip to go by; None for that which is measured.
        bits_per_s: the rate to make room for.
        sizes: to try, in bytes, or `LEFT_TO_KERNEL`.
        rounds: how often each.
        time_ns: how long each run is measured.
        max_bytes: how much all runs together may move.
        proves: whether to try the sizes; None to do so where it can make a difference.
        html: the page to write.
        fail_on: the least severity of a finding that makes the exit code 1.
        has_headers: whether tables have lines of column names.
    """

    topic: str | None
    reads_only: bool
    writes_to_topic: bool
    rtt_ns: int | None
    bits_per_s: int
    sizes: tuple[int, ...]
    rounds: int
    time_ns: int
    max_bytes: int
    proves: bool | None
    html: Path | None
    fail_on: Severity
    has_headers: bool


def read_rtt_ns(text: str) -> int | None:
    """Return a round trip such as `20ms`; None for `auto`.

    Raises:
        typer.BadParameter: if it is neither.
    """
    return None if text == _AUTO else read_timeout_ns(text, "--rtt")


def read_sizes(text: str) -> tuple[int, ...]:
    """Return sizes such as `64k,1m,auto`, each once.

    Raises:
        typer.BadParameter: if one is none, or cannot be a buffer's.
    """
    return tuple(dict.fromkeys(map(_size, text.split(","))))


def _size(text: str) -> int:
    if text.strip().lower() in _KERNEL:
        return LEFT_TO_KERNEL
    size_bytes = read_size(text, _SIZES)
    if not _LEAST_BYTES <= size_bytes <= _MOST_BYTES:
        why = f"{text!r} is no size of a buffer: between 4k and 1g, or auto"
        raise typer.BadParameter(why, param_hint=_SIZES)
    return size_bytes
