"""The run of `kdiag tune-buffers` on captures: reports what limits their connections."""

import sys
from typing import TYPE_CHECKING, Final

from kdiag.diagnosis.tcp import findings as tcp_limit_findings
from kdiag.diagnosis.tcp.limit import SHORT_PATH_NS, ConnectionLimits, limits_of
from kdiag.diagnosis.tcp.request_cycles import RequestCycles
from kdiag.diagnosis.tcp.worst_connections import badness
from kdiag.exchange.line.phrase import count
from kdiag.exchange.model import Connection, Exchange
from kdiag.exchange.summary.largest import LargestConnections
from kdiag.pcap.decoder import CaptureDecoder, Item
from kdiag_cli.captures.account import account_of
from kdiag_cli.captures.reading import run_on_captures
from kdiag_cli.captures.source import (
    note_late_packets,
    note_left_out,
    note_memory,
    note_repeats,
    open_traffic,
    read_keylogs,
)
from kdiag_cli.commands.tune_buffers.captures_text import CapturedPath, document, print_paths
from kdiag_cli.commands.tune_buffers.options import CapturedPathsOptions
from kdiag_cli.exit_code import ExitCode, exit_code_of
from kdiag_cli.output.findings import say_findings
from kdiag_cli.output.progress import ReadingProgress
from kdiag_cli.output.result import ResultFormat, print_document
from kdiag_cli.output.terminal import Output

if TYPE_CHECKING:
    from kdiag.findings.finding import Finding  # which loads all rules

COMMAND: Final = "tune-buffers"

_MOST_PATHS: Final = 10_000  # 12 kB each, with their documents: a quarter of the memory budget


def run(options: CapturedPathsOptions) -> ExitCode:
    """Read captures and print what limits their connections; return the exit code."""
    return run_on_captures(lambda: _run(options))


def _run(options: CapturedPathsOptions) -> ExitCode:
    output = Output(sys.stdout, is_wide=options.is_wide)
    paths, warnings, is_partial = _read(options)
    findings = [finding for path in paths for finding in path.findings]
    if options.output is ResultFormat.JSON:
        data = [document(path) for path in paths]
        print_document(output, COMMAND, data, warnings=warnings, findings=findings)
    else:
        print_paths(output, paths, has_headers=options.has_headers)
    output.flush()
    if options.output is ResultFormat.TABLE:
        say_findings(findings, warnings, badness)
    return exit_code_of([], findings, options.fail_on, is_partial=is_partial)


def _read(options: CapturedPathsOptions) -> tuple[list[CapturedPath], list[str], bool]:
    """Return the connections, the warnings, and whether anything of the captures is missing."""
    reader = open_traffic(options.inputs)
    keylog = read_keylogs(options.inputs.keylogs, reader)
    decoder = CaptureDecoder(reader.addresses, ports=options.inputs.ports, keylog=keylog)
    decoder.follow_tcp()
    if not options.inputs.each_interface:
        decoder.link_sightings()
    seen = _PathCollector(options.bits_per_s)
    progress = ReadingProgress(reader.total_bytes)
    try:
        for batch in reader.read_segments():
            keylog.add_secrets(reader.secrets)
            for part in decoder.parts(batch):
                seen.add(decoder.feed(part))
            progress.update(reader.bytes_read)
    finally:
        progress.clear()
    seen.add(decoder.finish())
    paths = list(seen.paths)
    account = account_of(reader, decoder.counts, keylog)
    lost = account.warnings()
    unread = decoder.counts.gaps or decoder.counts.not_understood
    is_partial = bool(reader.warnings or unread or lost)
    left_out = note_left_out(seen.paths.left_out)
    found = [*note_repeats(reader), *note_late_packets(reader), *note_memory(decoder.counts)]
    notes = [*found, *lost, *left_out, *_notes(paths)]
    return paths, [*map(str, reader.warnings), *notes], is_partial


class _PathCollector:
    """Collects connections with their exchanges.

    Attributes:
        paths: the connections that have ended; of many, those with the most bytes.
    """

    def __init__(self, bits_per_s: int) -> None:
        self.paths = LargestConnections[CapturedPath](_MOST_PATHS)
        self._bits_per_s = bits_per_s
        self._turns: dict[int, RequestCycles] = {}

    def add(self, items: list[Item]) -> None:
        """Add what the decoder has completed."""
        for item in items:
            if isinstance(item, Exchange):
                self._turns.setdefault(item.connection.number, RequestCycles()).add(item)
        for item in items:
            if isinstance(item, Connection):
                self._end(item)

    def _end(self, connection: Connection) -> None:
        assert connection.tcp is not None
        turns = self._turns.pop(connection.number, None) or RequestCycles()
        limits: ConnectionLimits = limits_of(connection.tcp, turns)
        findings: list[Finding] = tcp_limit_findings.find(
            connection, limits, turns, self._bits_per_s
        )
        path = CapturedPath(connection, connection.tcp, turns, limits, findings)
        self.paths.add(connection, path)


def _notes(paths: list[CapturedPath]) -> list[str]:
    """Return warnings about connections that cannot be judged well."""
    short, late = [], []
    for path in paths:
        if path.is_busy and (path.facts.rtt_ns or SHORT_PATH_NS) < SHORT_PATH_NS:
            short.append(path)
        if path.is_busy and not path.facts.has_handshake:
            late.append(path)
    notes = []
    quiet = sum(not path.is_busy for path in paths)
    if quiet:
        notes.append(f"{count(quiet, 'connection')} with too few bytes to judge what limits them")
    if short:
        notes.append(
            f"{count(len(short), 'connection')} with round trips below 1 ms: socket buffers make "
            "no difference there, and what a test on loopback says of them misleads"
        )
    if late:
        notes.append(
            f"{count(len(late), 'connection')} without a handshake: how windows are scaled is not "
            "known, so receive buffers cannot be judged; capture from the beginning"
        )
    return notes
