"""The captures of a run: found in its inputs, walked through, and those that are new.

inputs    captures captures/a.pcap    paths and URIs, folders and files
files     a.pcap b.pcap notes.txt     each once, however often and however it is named
walks     a.pcap b.pcap               by a task each; in a folder, what is no capture is ignored
"""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final, NamedTuple

import msgspec
from pyspark.sql import SparkSession

from kdiag.clock import TimeRange
from kdiag.errors import CaptureError
from kdiag.pcap.files.pcapng import TLS_KEY_LOG, Secrets
from kdiag.pcap.tls.keylog_file import read_line_blocks, wanted_lines
from kdiag.pipeline.input.split import Split, Walk, walk
from kdiag.pipeline.output.read_captures import ReadCaptures
from kdiag.pipeline.rows.partitioner import Weights
from kdiag.pipeline.session import cores_of
from kdiag.pipeline.tasks import do_tasks
from kdiag.report.uri import canonical, expand, open_file, state_of

_WALKS_PER_CORE: Final = 8
_IN_PART: Final = "is in the tables in part: it has grown, or not all times of it were read"


class Wanted(NamedTuple):
    """What is wanted of the captures of a run.

    Attributes:
        inputs: captures and folders of captures.
        split_bytes: about how long a split is.
        times: of the packets.
    """

    inputs: Sequence[str]
    split_bytes: int
    times: TimeRange


def find_captures(spark: SparkSession, wanted: Wanted) -> list[Walk]:
    """Find the captures in the inputs, and their splits.

    Raises:
        CaptureError: if an input is not a capture or cannot be opened, or a folder holds none.
    """
    walks = _walk_files(spark, _files(wanted.inputs), wanted.split_bytes)
    if not walks:
        raise CaptureError(", ".join(wanted.inputs), "holds no capture file")
    return walks


def find_new_captures(
    spark: SparkSession, wanted: Wanted, read: ReadCaptures
) -> tuple[list[Walk], list[str]]:
    """Find the captures that nobody has read; return a warning for each that was read in part.

    Raises:
        CaptureError: if an input is not a capture or cannot be opened.
    """
    files = [
        (uri, is_in_folder)
        for uri, is_in_folder in _files(wanted.inputs)
        if not read.has(canonical(uri), *state_of(uri), wanted.times)
    ]
    new: list[Walk] = []
    warnings: list[str] = []
    for each in _walk_files(spark, files, wanted.split_bytes):
        reader = read.reader(each.capture, wanted.times)
        if reader is None:
            new.append(each)
        elif read.unread(each.capture, wanted.times):
            warnings.append(f"{each.uri}: {_IN_PART}; repeat run {reader.run} without --new")
    return new, warnings


def secrets_for(walks: Sequence[Walk], keylogs: Sequence[str]) -> tuple[Secrets, ...]:
    """Return the TLS secrets of captures: those in them, and those that key logs hold for them.

    A key log that is not there has none.

    Raises:
        CaptureError: if a key log cannot be read.
    """
    found = [each for walk in walks for each in walk.secrets]
    randoms = frozenset[bytes]().union(*(each.client_randoms for each in walks))
    for uri in keylogs if randoms else ():
        try:
            file = open_file(uri)
        except CaptureError as error:
            if isinstance(error.__cause__, FileNotFoundError):
                continue
            raise
        with file:
            blocks = read_line_blocks(file)
            lines = b"\n".join(line for block in blocks for line in wanted_lines(block, randoms))
        found.append(Secrets(TLS_KEY_LOG, lines))
    return tuple(found)


def note_changes(walks: Sequence[Walk]) -> list[str]:
    """Return a warning for each capture that was written to since it was walked through.

    One that was removed since then, as a ring buffer does, was read before or failed its task.
    """
    why = "was written to while it was read: what was added is not in the tables"
    return [f"{each.uri}: {why}" for each in walks if _has_changed(each)]


def _has_changed(walk: Walk) -> bool:
    try:
        return state_of(walk.uri) != walk.state
    except CaptureError:
        return False


def _files(inputs: Sequence[str]) -> list[tuple[str, bool]]:
    """Return the files of inputs, each once, with whether it was found in a folder only."""
    files: dict[str, tuple[str, bool]] = {}
    for uri, is_in_folder in expand([*inputs]):
        known = files.setdefault(canonical(uri), (uri, is_in_folder))
        if not is_in_folder and known[1]:
            files[canonical(uri)] = uri, False
    return [*files.values()]


def _walk_files(spark: SparkSession, files: list[tuple[str, bool]], split_bytes: int) -> list[Walk]:
    if not files:
        return []
    tasks = min(len(files), _WALKS_PER_CORE * cores_of(spark))
    found = do_tasks(spark, len(files), partial(_walk_file, files, split_bytes), tasks)
    walks = [msgspec.json.decode(each, type=Walk) for each in found]
    refused = next((each for each in walks if not each.splits), None)
    if refused is not None:
        raise CaptureError(refused.uri, refused.warning)
    return [each for each in walks if each.splits[0].end]


def _walk_file(files: list[tuple[str, bool]], split_bytes: int, number: int) -> Iterator[Walk]:
    uri, is_in_folder = files[number]
    try:
        yield walk(uri, split_bytes)
    except CaptureError as error:
        # A folder may hold other files too; a file that is named must be a capture.
        nothing = [Split(uri, 0, 0, b"", 1, 0, 0, 0)]
        yield Walk(uri, 0, nothing if is_in_folder else [], error.why, [], Weights())
