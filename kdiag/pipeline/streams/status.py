"""How far a stream is: read from its checkpoint and the log of its tables, without Spark."""

import fcntl
from pathlib import Path
from typing import NamedTuple

import msgspec
from pyarrow import fs

from kdiag.errors import ReportError
from kdiag.pipeline.job import Job
from kdiag.pipeline.output.whole_files import read_whole
from kdiag.pipeline.streams.capture_log import CaptureContent
from kdiag.pipeline.streams.states import NO_BATCH, States, StreamFacts, StreamJob
from kdiag.report.uri import resolve


class HostStatus(NamedTuple):
    """How far the captures of a host are.

    Attributes:
        host: its name; empty if captures do not tell.
        captures: how many were read.
        latest_ns: the latest time in them.
        read_ns: when the last one was read.
    """

    host: str
    captures: int
    latest_ns: int
    read_ns: int


class StreamStatus(NamedTuple):
    """How far a stream is.

    Attributes:
        facts: what it follows.
        id: what tells it from others.
        batches: how many were read; None before the first.
        packets: in all of them.
        rows: of each table that it has written.
        hosts: how far each is.
        waiting: captures that are not read yet.
        left_out: those that changed after they were read, and files that are no captures.
        state_bytes: the size of its state.
        is_running: whether a process of this machine uses it.
        is_closed: whether it cannot go on.
    """

    facts: StreamFacts
    id: str
    batches: int
    packets: int
    rows: dict[str, int]
    hosts: list[HostStatus]
    waiting: list[str]
    left_out: list[str]
    state_bytes: int
    is_running: bool
    is_closed: bool


def status_of(checkpoint: str) -> StreamStatus:
    """Return how far the stream of a checkpoint is.

    Raises:
        ReportError: if there is none, or it is of another release.
    """
    checkpoint = checkpoint.rstrip("/")
    data = read_whole(f"{checkpoint}/stream.json")
    if data is None:
        raise ReportError(checkpoint, "no stream has this checkpoint: there is no stream.json")
    try:
        facts = msgspec.json.decode(data, type=StreamFacts)
    except msgspec.DecodeError as error:
        raise ReportError(f"{checkpoint}/stream.json", f"cannot be read: {error}") from error
    stream = StreamJob(facts.folder, checkpoint, Job((), facts.out, name=facts.name), facts.rules)
    states = States(stream)
    batch, state = states.last(None)
    entries = stream.captures.entries()
    own = [each for each in states.log.runs() if each.stream == states.id]
    rows: dict[str, int] = {}
    for run in own:
        for table, count in run.rows.items():
            rows[table] = rows.get(table, 0) + count
    read = [each for each in entries if each.content is CaptureContent.NEW]
    hosts = [
        HostStatus(host, sum(each.host == host for each in read), *msgspec.structs.astuple(time))
        for host, time in sorted(state.hosts.items())
    ]
    left_out = (CaptureContent.CHANGED, CaptureContent.FOREIGN)
    return StreamStatus(
        facts=facts,
        id=states.id,
        batches=0 if batch == NO_BATCH else batch + 1,
        packets=state.packets,
        rows=rows,
        hosts=hosts,
        waiting=stream.captures.waiting(),
        left_out=[each.uri for each in entries if each.content in left_out],
        state_bytes=_bytes_in(f"{checkpoint}/state"),
        is_running=_is_locked(checkpoint),
        is_closed=states.is_closed,
    )


def _bytes_in(uri: str) -> int:
    system, path = resolve(uri)
    found = system.get_file_info(fs.FileSelector(path, allow_not_found=True, recursive=True))
    return sum(each.size or 0 for each in found)


def _is_locked(checkpoint: str) -> bool:
    """Return whether a process of this machine uses a checkpoint."""
    system, path = resolve(f"{checkpoint}/lock")
    if not isinstance(system, fs.LocalFileSystem) or not Path(path).exists():
        return False
    with Path(path).open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False
