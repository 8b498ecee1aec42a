"""The options of `kdiag tune-buffers`, validated: for live brokers, and for captures."""

from pathlib import Path
from typing import Final, NamedTuple

from kdiag.clock import NS_PER_S
from kdiag.diagnosis.buffers.facts import LEFT_TO_KERNEL
from kdiag.exchange.line.quantities import parse_duration_ns, parse_size_bytes
from kdiag.findings.rule import Severity
from kdiag_cli.options.captures import CaptureInputs
from kdiag_cli.options.quantities import parsed, usage_errors
from kdiag_cli.output.result import ResultFormat

_AUTO: Final = "auto"
_KERNEL: Final = frozenset((_AUTO, "kernel", "-1"))
_LEAST_BYTES: Final = 4 << 10
_MOST_BYTES: Final = 1 << 30
_LEAST_RUN_NS: Final = NS_PER_S // 10
_MOST_RUN_NS: Final = 60 * NS_PER_S


class TuneBuffersOptions(NamedTuple):
    """The options for live brokers.

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


class CapturedPathsOptions(NamedTuple):
    """The options for captures.

    Attributes:
        inputs: the captures and how they are read.
        bits_per_s: the rate to make room for.
        output: a table or a document.
        has_headers: whether the table has headers.
        is_wide: whether the table shows all columns.
        fail_on: the least severity that makes the exit code 1.
    """

    inputs: CaptureInputs
    bits_per_s: int
    output: ResultFormat
    has_headers: bool = True
    is_wide: bool = False
    fail_on: Severity = Severity.ERROR


def read_rtt_ns(text: str) -> int | None:
    """Return a round trip such as `20ms`; None for `auto`.

    Raises:
        typer.BadParameter: if it is neither.
    """
    if text == _AUTO:
        return None
    with usage_errors("--rtt"):
        rtt_ns = parse_duration_ns(text)
        if not rtt_ns:
            raise ValueError("a round trip takes time; auto measures it")
        return rtt_ns


def run_time_ns(given: str | int) -> int:
    """Parse how long a run is; the name of the option says that it is in seconds."""
    return parsed(_run_time_ns, given)


def _run_time_ns(text: str) -> int:
    time_ns = parse_duration_ns(text, bare="s")
    if not _LEAST_RUN_NS <= time_ns <= _MOST_RUN_NS:
        raise ValueError(f"{text!r} is not between 0.1 and 60 seconds")
    return time_ns


def read_sizes(text: str) -> tuple[int, ...]:
    """Return sizes such as `64k,1m,auto`, each once.

    Raises:
        typer.BadParameter: if one is not a size, or cannot be a buffer's.
    """
    with usage_errors("--sizes"):
        return tuple(dict.fromkeys(map(_size, text.split(","))))


def _size(text: str) -> int:
    if text.strip().lower() in _KERNEL:
        return LEFT_TO_KERNEL
    size_bytes = parse_size_bytes(text)
    if not _LEAST_BYTES <= size_bytes <= _MOST_BYTES:
        raise ValueError(f"{text!r} cannot be a buffer's size: between 4K and 1G, or auto")
    return size_bytes
