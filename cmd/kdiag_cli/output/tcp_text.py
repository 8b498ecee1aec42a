"""What TCP did on connections, as text: a table for many, a few lines for one."""

from collections.abc import Sequence
from typing import Final

from kdiag.exchange.line.phrase import count, size
from kdiag.exchange.model import Connection
from kdiag.exchange.tcp_facts import Spread, TcpDirection, TcpFacts
from kdiag_cli.output.table.layout import TableColumn
from kdiag_cli.output.units import duration

_MS: Final = 1_000_000
_NOTHING: Final = "-"

TCP_COLUMNS: Final = (
    TableColumn("CONNECTION"),
    TableColumn("CLIENT"),
    TableColumn("BROKER"),
    TableColumn("RTT-MS"),
    TableColumn("RETRANSMITS"),
    TableColumn("ZERO-WINDOWS", 2),
    TableColumn("STALLED-MS", 1),
    TableColumn("WINDOW-SCALING", 3),
    TableColumn("SEEN-NEAR", 4),
)


def tcp_row(connection: Connection, facts: TcpFacts) -> tuple[str, ...]:
    """Return what TCP did on a connection as a row of `TCP_COLUMNS`."""
    return (
        str(connection.number),
        connection.client,
        connection.broker,
        ms_text(facts.rtt_ns),
        f"{facts.retransmits:,}",
        f"{facts.zero_windows:,}",
        ms_text(facts.stalled_ns),
        facts.window_scaling.value,
        facts.vantage.value,
    )


def tcp_phrase(facts: TcpFacts) -> str:
    """Return the most important of what TCP did on one connection."""
    return ", ".join(
        (
            f"RTT {_time(facts.rtt_ns)}",
            count(facts.retransmits, "retransmit"),
            count(facts.zero_windows, "zero window"),
            f"stalled {_time(facts.stalled_ns)}",
        )
    )


def tcp_lines(facts: TcpFacts) -> Sequence[str]:
    """Return what TCP did on one connection in lines."""
    head = (
        f"RTT {_time(facts.rtt_ns)} ({_time(facts.client_rtt_ns)} to the client, "
        f"{_time(facts.broker_rtt_ns)} to the broker), window scaling {facts.window_scaling}"
    )
    return (
        head,
        *_direction("requests", facts.requests),
        *_direction("responses", facts.responses),
    )


def _direction(name: str, direction: TcpDirection) -> Sequence[str]:
    if not direction.segments:
        return ()
    words = [
        count(direction.segments, "segment"),
        count(direction.retransmits, "retransmit"),
        count(direction.zero_windows, "zero window"),
        f"stalled {_time(direction.stalled_ns)}",
        f"window {_median(direction.window)}",
        f"in flight {_median(direction.in_flight)}",
    ]
    return (f"{name}: {', '.join(words)}",)


def _median(spread: Spread | None) -> str:
    return "not known" if spread is None else f"{size(spread.median)} (most {size(spread.most)})"


def _time(time_ns: int | None) -> str:
    """Return a time for people; whether there is none or it is not known is a difference."""
    if time_ns is None:
        return "not known"
    return duration(time_ns) if time_ns else "0"


def ms_text(time_ns: int | None) -> str:
    """Return a time in milliseconds; a dash if it is not known."""
    return _NOTHING if time_ns is None else f"{time_ns / _MS:,.1f}"
