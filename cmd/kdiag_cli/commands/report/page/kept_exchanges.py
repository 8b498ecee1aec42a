"""The exchanges that a page shows in full, and the rows of tables that lead to them."""

import json
from collections.abc import Iterator, Sequence
from typing import Any, Final

from kdiag.clock import NS_PER_US
from kdiag.exchange.line.phrase import size
from kdiag.report.overview.questions import Row
from kdiag_cli.output.pages.parts import Detail, PageLink
from kdiag_cli.output.units import duration

_MOST_ITEMS: Final = 3
_MOST_LETTERS: Final = 6_000
_MOST_TEXT: Final = 400
_REASONS: Final = {
    "slow": "the slowest of its API, broker and client",
    "wrong": "the first of its problem",
    "oldest": "in the lowest version of its client",
    "rebalance": "it made a group rebalance",
    "named": "a finding, or the table of slow exchanges, names it",
}


class KeptExchanges:
    """Exchanges with a place on the page."""

    def __init__(self, rows: Sequence[Row]) -> None:
        """Give each a place.

        Args:
            rows: as the question `kept_exchanges` answers.
        """
        self._rows = list(rows)

    def link(self, text: str, **wanted: Any) -> PageLink:
        """Return a link to the exchange that shows something best.

        Args:
            text: of the link.
            wanted: values of columns; `reason` is one of its reasons, `packet` one of its packets.
        """
        found = [number for number, row in enumerate(self._rows) if _fits(row, wanted)]
        if not found:
            return PageLink(text, "")
        best = max(found, key=lambda number: self._rows[number]["latency_us"] or 0)
        return PageLink(text, _anchor(best))

    def slowest(self, most: int) -> Iterator[tuple[Row, str]]:
        """Yield the slowest with their places."""
        timed = [(row, _anchor(number)) for number, row in enumerate(self._rows)]
        timed = [each for each in timed if each[0]["latency_us"] is not None]
        yield from sorted(timed, key=lambda each: -each[0]["latency_us"])[:most]

    def details(self) -> Iterator[Detail]:
        """Yield each in full."""
        for number, row in enumerate(self._rows):
            yield Detail(_anchor(number), _summary(row), _facts(row), list(_bodies(row)))


def _anchor(number: int) -> str:
    return f"exchange-{number}"


def _fits(row: Row, wanted: dict[str, Any]) -> bool:
    wanted = dict(wanted)
    reason, packet = wanted.pop("reason", None), wanted.pop("packet", None)
    if reason is not None and reason not in row["reasons"].split():
        return False
    if packet is not None and not any(
        (row[f"{side}_first_packet"] or 0) <= packet <= (row[f"{side}_last_packet"] or -1)
        for side in ("request", "response")
    ):
        return False
    problem = wanted.pop("problem", None)
    if problem is not None and problem != (row["error"] or row["status"]):
        return False
    return all(row[name] == value for name, value in wanted.items())


def _summary(row: Row) -> str:
    name = "unknown API" if row["api"] is None else row["api"]
    version = "" if row["version"] is None else f" v{row['version']}"
    latency = "" if row["latency_us"] is None else duration(row["latency_us"] * NS_PER_US)
    wrong = row["error"] or ("" if row["status"] == "ok" else row["status"])
    client = row["client_id"] or row["client_host"]
    parts = (clock_text(row["time"]), f"{name}{version}", f"{client} → {row['broker']}")
    return "  ".join(each for each in (*parts, latency, wrong) if each)


def clock_text(moment: Any) -> str:
    """Return the time of the day of a moment."""
    return f"{moment:%H:%M:%S}.{moment.microsecond:06d}"


def _facts(row: Row) -> list[tuple[str, str]]:
    reasons = "; ".join(_REASONS.get(each, each) for each in row["reasons"].split())
    facts = [
        ("shown because", reasons),
        ("number", f"{row['number']} (kdiag decode --show {row['number']})"),
        ("time", f"{row['time']:%Y-%m-%d} {clock_text(row['time'])} UTC"),
        ("connection", f"{row['connection']}: {row['client']} → {row['broker']}"),
        ("client id", _text(row["client_id"])),
        ("correlation id", _text(row["correlation_id"])),
        ("status", " ".join(filter(None, (row["status"], row["unanswered_reason"])))),
        ("error", _text(row["error"])),
        ("latency", _duration(row["latency_us"])),
        ("transfer of the response", _duration(row["transfer_us"])),
        ("topics", ", ".join(row["topics"] or ())[:_MOST_TEXT]),
        ("groups", ", ".join(row["groups"] or ())[:_MOST_TEXT]),
        *(_frame(row, side) for side in ("request", "response")),
    ]
    return [(name, value) for name, value in facts if value]


def _frame(row: Row, side: str) -> tuple[str, str]:
    bytes_, segments = row[f"{side}_bytes"], row[f"{side}_segments"]
    if bytes_ is None:
        return side, ""
    first, last = row[f"{side}_first_packet"], row[f"{side}_last_packet"]
    packets = f"packet {first}" if first == last else f"packets {first} to {last}"
    plural = "" if segments == 1 else "s"
    return side, f"{size(bytes_)} in {segments} segment{plural}, {packets}"


def _text(value: object) -> str:
    return "" if value is None else str(value)


def _duration(time_us: float | None) -> str:
    return "" if time_us is None else duration(time_us * NS_PER_US)


def _bodies(row: Row) -> Iterator[tuple[str, str]]:
    for side in ("request", "response"):
        text = row[f"{side}_body"]
        if text is not None:
            yield side, _body(text, is_cut=bool(row[f"{side}_is_cut"]))
        elif row[f"{side}_bytes"] is not None:
            yield side, "not in the tables, or not readable"


def _body(text: str, *, is_cut: bool) -> str:
    """Return a body in lines, long lists and long texts cut."""
    if not is_cut:
        text = json.dumps(_shortened(json.loads(text)), indent=1, ensure_ascii=False)
    if len(text) > _MOST_LETTERS:
        text = f"{text[:_MOST_LETTERS]}\n… cut here"
    return text


def _shortened(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _shortened(each) for name, each in value.items()}
    if isinstance(value, list):
        shown = [_shortened(each) for each in value[:_MOST_ITEMS]]
        more = len(value) - len(shown)
        return [*shown, f"… {more} more"] if more else shown
    if isinstance(value, str) and len(value) > _MOST_TEXT:
        return f"{value[:_MOST_TEXT]}… {len(value) - _MOST_TEXT} more letters"
    return value
