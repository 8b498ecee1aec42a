"""The inputs of a reading, opened: captures or a live interface, key logs, names of topic ids."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

import typer

from kdiag.errors import CaptureError
from kdiag.exchange.line.phrase import count
from kdiag.pcap.files.window import STDIN
from kdiag.pcap.look_ahead import find_client_randoms
from kdiag.pcap.memory_budget import Limits
from kdiag.pcap.reader import CaptureReader, Source
from kdiag.pcap.tcp.counts import Counts
from kdiag.pcap.tls.keylog import KeyLog
from kdiag.pcap.tls.keylog_file import SearchedKeyLog
from kdiag.wire.primitives import uuid_bytes
from kdiag_cli.options.captures import CaptureInputs
from kdiag_cli.output.units import duration

if TYPE_CHECKING:
    from kdiag.pcap.live import LiveCapture

Traffic: TypeAlias = "CaptureReader | LiveCapture"

_WORDS_PER_LINE: Final = 2


def open_traffic(inputs: CaptureInputs) -> Traffic:
    """Open the captures, or the live interface.

    Raises:
        CaptureError: a file is not a capture, or the interface cannot be captured from.
    """
    apart, ports = inputs.separates_networks, inputs.tunnel_ports
    if inputs.live is None:
        return CaptureReader(inputs.files, separates_networks=apart, tunnel_ports=ports)
    from kdiag.pcap.live import CaptureChoice, LiveCapture  # noqa: PLC0415 - 3 ms

    return LiveCapture(
        inputs.live,
        write=inputs.write,
        separates_networks=apart,
        tunnel_ports=ports,
        choice=CaptureChoice(inputs.is_promiscuous, inputs.filter),
    )


def read_keylogs(files: Sequence[Path], traffic: Traffic) -> KeyLog:
    """Open the key logs for the connections of captures, which may bring along some of their own.

    Raises:
        CaptureError: a file cannot be read or holds no secret.
    """
    keylog = SearchedKeyLog()
    inputs: Sequence[Source] = [STDIN]  # a live interface is read once, as a pipe is
    if isinstance(traffic, CaptureReader):
        keylog.look_ahead, inputs = traffic.find_secrets, traffic.inputs
        keylog.find_own_randoms = partial(find_client_randoms, inputs)
    for file in files:
        known, bad_lines = len(keylog), keylog.bad_lines
        try:
            keylog.add_file(file, partial(find_client_randoms, inputs))
        except OSError as error:
            raise CaptureError(str(file), f"cannot be opened: {error.strerror}") from error
        # A program that has logged no secret yet may do so while packets are captured.
        may_grow = not isinstance(traffic, CaptureReader) and keylog.bad_lines == bad_lines
        if len(keylog) == known and not may_grow:
            why = "holds no TLS secret: give the file that SSLKEYLOGFILE named"
            raise CaptureError(str(file), why)
    return keylog


def read_topic_ids(file: Path | None) -> dict[str, str]:
    """Read a file of `topic-id<space>name` lines; return the names by topic id."""
    if file is None:
        return {}
    hint = "'--topic-ids'"
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is not UTF-8"
        raise typer.BadParameter(f"{file}: {why}", param_hint=hint) from None
    names = {}
    for number, line in enumerate(lines, 1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        if len(words) != _WORDS_PER_LINE or not _is_uuid(words[0]):
            why = f"{file}, line {number}: expected a topic id, a space and a name"
            raise typer.BadParameter(why, param_hint=hint)
        names[words[0]] = words[1]
    return names


def _is_uuid(text: str) -> bool:
    try:
        uuid_bytes(text)
    except ValueError:
        return False
    return True


def decoder_limits(inputs: CaptureInputs) -> Limits:
    """Return the limits of the decoder: those that are given, else its own."""
    given = {
        "max_frame_bytes": inputs.max_frame_bytes,
        "max_waiting_bytes": inputs.max_waiting_bytes,
        "max_memory_bytes": inputs.max_memory_bytes,
    }
    return Limits(**{name: limit for name, limit in given.items() if limit is not None})


def note_repeats(traffic: Traffic) -> list[str]:
    """Return a warning about packets that are in more than one capture."""
    if not isinstance(traffic, CaptureReader) or not traffic.repeats.count:
        return []
    number, one, other = traffic.repeated
    about = f"{count(number, 'packet')} given more than once, the first in {one} and {other}"
    return [f"{about}: time and bytes are the same, so each counts once"]


def note_late_packets(traffic: Traffic) -> list[str]:
    """Return a warning about packets that were not written in the order of their times."""
    if not isinstance(traffic, CaptureReader) or not traffic.time_order.late:
        return []
    order = traffic.time_order
    late = f"times go back in the capture: {count(order.late, 'packet')} written late"
    how = "all are read, and numbered, in the order of their times"
    return [f"{late}, by up to {duration(order.late_ns)}: {how}"]


def note_disorder(counts: Counts) -> list[str]:
    """Return warnings about responses out of the order of their requests, or before these."""
    warnings = []
    if counts.overtaken:
        late = f"{count(counts.overtaken, 'response')} came after one to a later request"
        rule = "a broker answers the requests of a connection in order"
        warnings.append(f"{late}, the first in exchange {counts.first_overtaken}: {rule}")
    if counts.violations:
        lone = f"{count(counts.violations, 'response')} answered no request"
        why = "no byte of requests is missing, so the broker, or a proxy, breaks the protocol"
        warnings.append(f"{lone}, the first in exchange {counts.first_violation}: {why}")
    if counts.early:
        early = f"{count(counts.early, 'response')} captured before the end of the request"
        most = f"by up to {duration(counts.skew_ns)}, the first in exchange {counts.first_early}"
        why = "the two directions were recorded by clocks that differ by more than that"
        warnings.append(f"{early}, {most}: {why}; these exchanges have no latency")
    return warnings


def note_left_out(number: int) -> list[str]:
    """Return a warning about connections whose facts of TCP are not kept."""
    if not number:
        return []
    which = f"{count(number, 'connection')} with the fewest bytes"
    return [f"{which} left out of the facts about TCP: there is no memory for all of them"]


def note_memory(counts: Counts) -> list[str]:
    """Return a warning about connections that were ended early, so that memory suffices."""
    found = []
    if counts.given_up:
        ended = f"{count(counts.given_up, 'connection')} ended early, the quietest ones"
        why = "all together held more than --max-memory allows"
        found.append(f"{ended}: {why}; what came later on them counts as other connections")
    if counts.resumed:
        which = count(counts.resumed, "connection")
        found.append(f"{which} went on after more than an hour of silence, and count as others")
    return found
