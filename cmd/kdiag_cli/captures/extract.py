"""`--write` for files: the packets of the chosen connections, in a capture of their own."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from kdiag.exchange.dissection import Dissection
from kdiag.exchange.line.phrase import count
from kdiag.exchange.model import Connection, Gap
from kdiag.pcap.decoder import CaptureDecoder, Item
from kdiag.pcap.look_ahead import can_read_twice
from kdiag.pcap.reader import CaptureReader
from kdiag_cli.captures.printer import Printer
from kdiag_cli.options.captures import CaptureInputs

if TYPE_CHECKING:
    from kdiag.pcap.writer.extract import ExtractCounts, ExtractNotes

_HINT = "'--write'"


class CaptureExtract:
    """Notes what a reading chooses, and writes it."""

    def __init__(self, inputs: CaptureInputs, reader: CaptureReader, notes: "ExtractNotes") -> None:
        """Begin before the first packet.

        Args:
            inputs: how the captures are read.
            reader: of the first reading.
            notes: what that notes.
        """
        self._inputs = inputs
        self._reader = reader
        self._notes = notes

    def watch(self, printer: Printer | None) -> Printer:
        """Return a printer that notes the connections of chosen exchanges for another one."""
        return _ChosenConnections(self._notes.wanted, printer)

    def note(self, items: Iterable[Item]) -> None:
        """Note what the decoder has completed."""
        self._notes.note(items)

    def write(self) -> "ExtractCounts":
        """Write the packets; return the counts of what was written.

        Raises:
            CaptureError: the file cannot be written, or the captures are others now.
        """
        from kdiag.pcap.writer.extract import write_extract  # noqa: PLC0415 - as above

        inputs, first = self._inputs, self._reader
        assert inputs.write is not None
        reader = CaptureReader(
            first.inputs,
            separates_networks=inputs.separates_networks,
            tunnel_ports=inputs.tunnel_ports,
        )
        reader.index.addresses = first.addresses
        return write_extract(self._notes, reader, inputs.write, first.packets)


class _ChosenConnections:
    """A printer that notes the connections of exchanges, and hands everything on."""

    def __init__(self, wanted: set[int], printer: Printer | None) -> None:
        self._wanted = wanted
        self._printer = printer

    def exchange(self, dissection: Dissection) -> None:
        self._wanted.add(dissection.exchange.connection.number)
        if self._printer is not None:
            self._printer.exchange(dissection)

    def gap(self, gap: Gap) -> None:
        if self._printer is not None:
            self._printer.gap(gap)

    def connection(self, connection: Connection) -> None:
        if self._printer is not None:
            self._printer.connection(connection)

    def finish(self) -> None:
        if self._printer is not None:
            self._printer.finish()


def start_extract(
    inputs: CaptureInputs, reader: CaptureReader, decoder: CaptureDecoder, *, shows_secrets: bool
) -> CaptureExtract:
    """Start an extract of captures.

    Args:
        inputs: the captures, and the file to write.
        reader: of the first reading.
        decoder: of the first reading, before the first packet.
        shows_secrets: whether secrets stay.

    Raises:
        typer.BadParameter: an input can be read only once, or is the file to write.
    """
    assert inputs.write is not None
    if not can_read_twice(inputs.files):
        why = "reads the captures twice, which a pipe does not allow: give files"
        raise typer.BadParameter(why, param_hint=_HINT)
    others = [*inputs.keylogs, *([inputs.topic_ids] if inputs.topic_ids else [])]
    for path in [*(each for each in reader.inputs if isinstance(each, str | Path)), *others]:
        if inputs.write.exists() and inputs.write.samefile(path):
            raise typer.BadParameter(f"{inputs.write} is one of the inputs", param_hint=_HINT)
    from kdiag.pcap.writer.extract import ExtractNotes  # noqa: PLC0415 - 10 ms, for one option

    notes = ExtractNotes(decoder, keeps_secrets=shows_secrets)
    return CaptureExtract(inputs, reader, notes)


def extract_text(path: Path, counts: "ExtractCounts") -> str:
    """Return what was written to a file, and what was not, for people."""
    about = f"{count(counts.packets, 'packet')} of {count(counts.connections, 'connection')}"
    parts = [f"wrote {about} to {path}"]
    masked = [
        f"{what} in {count(packets, 'packet')}"
        for what, packets in (
            ("secrets", counts.secret_packets),
            ("bytes that nothing identifies", counts.unknown_packets),
        )
        if packets
    ]
    if masked:
        size = count(counts.masked_bytes, "byte")
        kept = "--show-secrets leaves them as they are"
        parts.append(f"masked {size} ({' and '.join(masked)}); {kept}")
    if counts.encrypted:
        parts.append(f"{count(counts.encrypted, 'connection')} with TLS as they are, without keys")
    if counts.fragmented:
        left_out = count(counts.fragmented, "segment")
        parts.append(f"left out {left_out} that came in IP fragments")
    return "; ".join(parts)


def extract_document(path: Path, counts: "ExtractCounts") -> dict[str, Any]:
    """Return the same for programs."""
    return {
        "path": str(path),
        "packets": counts.packets,
        "connections": counts.connections,
        "masked_bytes": counts.masked_bytes,
        "secret_packets": counts.secret_packets,
        "unknown_packets": counts.unknown_packets,
        "encrypted_connections": counts.encrypted,
        "left_out_segments": counts.fragmented,
    }
