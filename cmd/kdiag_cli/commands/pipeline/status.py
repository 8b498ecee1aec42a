"""`kdiag pipeline status`: how far a stream is, for people and for programs."""

from datetime import UTC, datetime
from typing import Any

from kdiag.clock import NS_PER_S, SystemClock
from kdiag.exchange.line.shown_time import stamp
from kdiag.pipeline.streams.status import StreamStatus, status_of
from kdiag_cli.captures.reading import run_on_captures
from kdiag_cli.exit_code import ExitCode
from kdiag_cli.output.result import ResultFormat, print_document
from kdiag_cli.output.table.printer import print_table
from kdiag_cli.output.terminal import Output, print_paragraph
from kdiag_cli.output.units import duration


def show(
    checkpoint: str, form: ResultFormat, *, has_headers: bool, is_wide: bool = False
) -> ExitCode:
    """Print how far the stream of a checkpoint is; return the exit code."""

    def work() -> ExitCode:
        found = status_of(checkpoint)
        screen = Output(is_wide=is_wide)
        now_ns = SystemClock().epoch_ns()
        if form is ResultFormat.JSON:
            print_document(screen, "pipeline status", [_document(found, now_ns)])
        else:
            _print(screen, found, now_ns, has_headers=has_headers)
        screen.flush()
        return ExitCode.DONE

    return run_on_captures(work)


def _document(found: StreamStatus, now_ns: int) -> dict[str, Any]:
    return {
        "name": found.facts.name,
        "folder": found.facts.folder,
        "out": found.facts.out,
        "is_running": found.is_running,
        "is_closed": found.is_closed,
        "batches": found.batches,
        "packets": found.packets,
        "rows": found.rows,
        "hosts": [
            {
                "host": each.host or None,
                "captures": each.captures,
                "latest_time": _time(each.latest_ns),
                "behind_ms": (now_ns - each.latest_ns) / 1e6,
                "read_time": _time(each.read_ns),
            }
            for each in found.hosts
        ],
        "waiting": found.waiting,
        "left_out": found.left_out,
        "state_bytes": found.state_bytes,
    }


def _print(screen: Output, found: StreamStatus, now_ns: int, *, has_headers: bool) -> None:
    state = "closed" if found.is_closed else "running" if found.is_running else "stopped"
    rows = ", ".join(f"{count:,} {table}" for table, count in found.rows.items())
    parts = [
        f"{found.facts.name} is {state}: {found.batches} batches, {found.packets:,} packets",
        f"{len(found.waiting)} captures wait, {len(found.left_out)} files were left out",
        rows or "no rows",
    ]
    print_paragraph(screen, ". ".join(parts))
    cells = [
        (
            each.host or "-",
            str(each.captures),
            stamp(each.latest_ns, 0),
            duration(max(0, now_ns - each.latest_ns)),
        )
        for each in found.hosts
    ]
    headers = ("HOST", "CAPTURES", "LATEST", "BEHIND")
    print_table(screen, headers, cells, has_headers=has_headers)


def _time(ns: int) -> str:
    return datetime.fromtimestamp(ns // NS_PER_S, UTC).isoformat().replace("+00:00", "Z")
