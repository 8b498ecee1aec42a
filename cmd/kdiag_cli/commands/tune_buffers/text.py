"""What is told of buffers, for people: the paths, the ceilings, the proof, and what to set.

NODE-ID  ADDRESS        RTT-MS  REQUEST-RTT-MS   MSS ...
      1  far:9092         20.5            22.1  1448 ...

NODE-ID  CLIENT  DIRECTION  MB/S  BOUND-BY ...
      1  java    produce     3.7  batches_in_flight ...
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from kdiag.diagnosis.buffers.ceiling import Bound
from kdiag.diagnosis.buffers.facts import LoadDirection, LoadKind
from kdiag.diagnosis.buffers.report import BufferReport
from kdiag.diagnosis.buffers.trials import Trial, size_text
from kdiag_cli.output.chart import Bar, BarChart, print_bars
from kdiag_cli.output.result import milliseconds
from kdiag_cli.output.table.layout import TableColumn
from kdiag_cli.output.table.printer import print_table
from kdiag_cli.output.terminal import BOLD, Output, harmless, print_paragraph

PATH_COLUMNS: Final = (
    TableColumn("NODE-ID"),
    TableColumn("ADDRESS"),
    TableColumn("RTT-MS", unit="ms"),
    TableColumn("REQUEST-RTT-MS", 4, unit="ms"),
    TableColumn("MSS", 6),
    TableColumn("WINDOW-SCALE", 3),
    TableColumn("CONGESTION-CONTROL", 5),
    TableColumn("BROKER-SEND", 1, unit="bytes"),
    TableColumn("BROKER-RECEIVE", 2, unit="bytes"),
    TableColumn("BDP-BYTES", unit="bytes"),
)
CEILING_COLUMNS: Final = (
    TableColumn("NODE-ID"),
    TableColumn("CLIENT"),
    TableColumn("DIRECTION"),
    TableColumn("MB/S"),
    TableColumn("BOUND-BY"),
    TableColumn("DEFAULTS", 1),
)
RUN_COLUMNS: Final = (
    TableColumn("NODE-ID"),
    TableColumn("DIRECTION"),
    TableColumn("LOAD"),
    TableColumn("BUFFERS"),
    TableColumn("SEND-BYTES", 6),
    TableColumn("RECEIVE-BYTES", 5),
    TableColumn("MB/S"),
    TableColumn("LOW", 4),
    TableColumn("HIGH", 3),
    TableColumn("RETRANSMITS", 1),
    TableColumn("ROUNDS", 2),
)

_DIGITS: Final = 2
_RATE: Final = "--rate"
"""What holds a ceiling that nothing else holds."""
_COMMENT: Final = "  # "
"""How comments begin in lines to paste; they must stay comments on every line."""


def print_reports(
    output: Output, reports: Sequence[BufferReport], *, has_headers: bool = True
) -> None:
    """Print all brokers: their paths together, then what was found of each."""
    print_table(output, PATH_COLUMNS, map(path_row, reports), has_headers=has_headers)
    ceilings = [row for each in reports for row in ceiling_rows(each)]
    if ceilings:
        output.line("")
        print_table(output, CEILING_COLUMNS, ceilings, has_headers=has_headers)
    runs = [row for each in reports for row in run_rows(each)]
    if runs and not output.is_terminal:
        output.line("")
        print_table(output, RUN_COLUMNS, runs, has_headers=has_headers)
    for each in reports:
        _print_broker(output, each)


def charts(report: BufferReport) -> Iterator[BarChart]:
    """Yield the proof of a broker as charts, one for each direction."""
    for direction in LoadDirection:
        trials = [each for each in report.trials if each.direction is direction]
        if trials:
            title = f"broker {report.path.node_id}: {direction}"
            yield BarChart(title, "MB/s", [_bar(each) for each in trials])


def path_row(report: BufferReport) -> tuple[object, ...]:
    """Return the cells of `PATH_COLUMNS`."""
    path, facts = report.path, report.path.facts
    scale = None
    if facts is not None and facts.send_mss is not None:
        scale = "lost" if facts.send_window_scale is None else facts.send_window_scale
    return (
        path.node_id,
        path.address,
        milliseconds(path.rtt_ns),
        milliseconds(path.request_rtt_ns),
        facts and facts.send_mss,
        scale,
        facts and facts.congestion_control,
        path.config.send_buffer_bytes,
        path.config.receive_buffer_bytes,
        report.bdp_bytes,
    )


def ceiling_rows(report: BufferReport) -> Iterator[tuple[object, ...]]:
    """Yield the cells of `CEILING_COLUMNS` for each client and direction."""
    for each in report.ceilings:
        yield (
            report.path.node_id,
            each.client,
            each.direction,
            each.mb_per_s,
            _RATE if each.bound_by is Bound.RATE else each.bound_by,
            each.setting,
        )


def run_rows(report: BufferReport) -> Iterator[tuple[object, ...]]:
    """Yield the cells of `RUN_COLUMNS` for each setting."""
    for each in report.trials:
        rates = (each.mb_per_s, each.low_mb_per_s, each.high_mb_per_s)
        yield (
            report.path.node_id,
            each.direction,
            each.load,
            size_text(each.size_bytes),
            each.effective_send_bytes,
            each.effective_receive_bytes,
            *(round(rate, _DIGITS) for rate in rates),
            each.retransmits,
            each.runs,
        )


def sentences(report: BufferReport) -> Iterator[str]:
    """Yield what the numbers of a broker mean."""
    for each in report.bounds:
        yield from each.sentences
    for choice in (report.send, report.receive):
        if choice.is_proven:
            yield f"{choice.reason[0].upper()}{choice.reason[1:]}."


def _print_broker(output: Output, report: BufferReport) -> None:
    for chart in charts(report):
        if output.is_terminal:
            output.line("")
            print_bars(output, chart)
    _print_block(output, "", sentences(report))
    for advice in report.advice:
        title = f"{advice.client}, for broker {report.path.node_id}:"
        _print_block(output, title, (f"  {line}" for line in advice.lines))


def _print_block(output: Output, title: str, lines: Iterable[str]) -> None:
    """Print lines below a title, if there are any."""
    texts = [harmless(line) for line in lines]
    if not texts:
        return
    output.line("")
    if title:
        output.line(output.paint(title, BOLD))
    for text in texts:
        comment = _COMMENT if text.startswith(_COMMENT) else ""
        print_paragraph(output, text.removeprefix(comment), comment, comment or None)


def _bar(trial: Trial) -> Bar:
    label = size_text(trial.size_bytes)
    if trial.load is LoadKind.DEFAULTS:
        label += (
            ", default batches" if trial.direction is LoadDirection.PRODUCE else ", default fetches"
        )
    note = f"{trial.retransmits} retransmits" if trial.retransmits else ""
    return Bar(label, trial.mb_per_s, trial.low_mb_per_s, trial.high_mb_per_s, note)
