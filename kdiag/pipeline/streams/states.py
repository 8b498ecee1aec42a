"""What a stream remembers between two batches, in its checkpoint.

    CHECKPOINT/stream.json              what it follows, and where its tables are
    CHECKPOINT/files.json               the log of captures
    CHECKPOINT/state/00000007/          the state after batch 7: state.json, decoders, sessions,
                                        groups
    CHECKPOINT/state.closed             it was closed
    CHECKPOINT/id                       what tells it from all other streams
    CHECKPOINT/spark/                   Spark's own checkpoint

A batch continues from the state of the one before, which stays until the next one is complete.
Every file has a format of its own that later releases of kdiag read.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Final, NamedTuple
from uuid import uuid4

import msgspec

import kdiag
from kdiag.clock import NS_PER_S
from kdiag.errors import ReportError
from kdiag.pcap.memory_budget import Limits
from kdiag.pipeline.input.split import Split, Walk
from kdiag.pipeline.job import Job
from kdiag.pipeline.output.run_log import open_log, refuse_others
from kdiag.pipeline.output.state_graph import FORMAT, why_refused
from kdiag.pipeline.output.whole_files import read_whole, write_whole
from kdiag.pipeline.streams.capture_log import CaptureLog, FolderRules
from kdiag.pipeline.tabulate import NameBytes
from kdiag.report.run_log import LoggedRun
from kdiag.report.uri import canonical, folders_in, remove_folder

DEFAULT_PARTS: Final = 8
DEFAULT_IDLE_NS: Final = 3600 * NS_PER_S
NO_BATCH: Final = -1
END: Final = "end"
GROUPS: Final = "groups"
"""What the run with the tables of groups is called, behind the name of the stream."""

_NAME: Final = "stream"


class StreamJob(NamedTuple):
    """The job of a stream.

    Attributes:
        folder: where captures appear, as a path or URI.
        checkpoint: the folder of the stream's state.
        job: of each batch; the stream sets its inputs and parts.
        rules: which captures are complete, and whose they are.
        keylogs: files of TLS secrets, which are read again for each batch.
        most_files: how many captures a batch has at most.
        every: how often to list the folder, in Spark's notation.
        idle_ns: how long a connection may be without packets; 0 for ever.
        is_once: whether the stream ends when what was there at its start is in the tables.
    """

    folder: str
    checkpoint: str
    job: Job
    rules: FolderRules = FolderRules()
    keylogs: tuple[str, ...] = ()
    most_files: int = 16
    every: str = "10 seconds"
    idle_ns: int = DEFAULT_IDLE_NS
    is_once: bool = False

    @property
    def captures(self) -> CaptureLog:
        """Return the log of captures."""
        return CaptureLog(self.folder, f"{self.checkpoint}/files.json", self.rules)

    def batch(self, files: tuple[str, ...], batch: str) -> Job:
        """Return the job of a batch."""
        name, rules = self.job.name or _NAME, self.job.rules
        limits = msgspec.structs.replace(rules.limits or Limits(), idle_ns=self.idle_ns)
        rules = rules._replace(limits=limits, keylogs=self.keylogs)
        return self.job._replace(inputs=files, name=f"{name}-{batch}", rules=rules)


class StreamFacts(msgspec.Struct, frozen=True):
    """What `stream.json` says, for those who ask how far a stream is.

    Attributes:
        folder, out: where its captures and its tables are.
        name: of its batches.
        rules: which captures are complete, and whose they are.
        kdiag: the version that has started it last.
        schema: number of this document's shape.
    """

    folder: str
    out: str
    name: str
    rules: FolderRules
    kdiag: str
    schema: int = 1


class HostTime(msgspec.Struct, frozen=True):
    """How far the captures of a host are.

    Attributes:
        latest_ns: the latest time in them.
        read_ns: when the last one was read.
    """

    latest_ns: int
    read_ns: int


class State(msgspec.Struct, frozen=True):
    """The state after a batch, besides decoders and sessions.

    Attributes:
        format: of the whole state; 0 in that of a release before there were formats.
        parts: how many parts connections are divided into, the same in all batches.
        packets: how many packets all batches had.
        names: the names of topic ids.
        splits: those of the batch, after the last one of the batch before.
        hosts: how far each is.
        kdiag: the version that has written it.
    """

    format: int = 0
    parts: int = DEFAULT_PARTS
    packets: int = 0
    names: NameBytes = {}
    splits: list[Split] = []
    hosts: dict[str, HostTime] = {}
    kdiag: str = ""

    def hosts_with(
        self, walks: Sequence[Walk], host_of: Mapping[str, str], now_ns: int
    ) -> dict[str, HostTime]:
        """Return how far each host is with more captures.

        Args:
            walks: through these.
            host_of: whose each is.
            now_ns: the present.
        """
        hosts = dict(self.hosts)
        for each in walks:
            host = host_of.get(each.uri, "")
            before = hosts.get(host, HostTime(0, 0))
            latest_ns = max([before.latest_ns, *(split.last_ns for split in each.splits)])
            hosts[host] = HostTime(latest_ns, now_ns)
        return hosts


def watermark_ns(hosts: Mapping[str, HostTime], idle_ns: int, now_ns: int) -> int:
    """Return the time until which no host has captures to come.

    A host that lags behind holds back the time for all: its connections are not silent because
    others are further. One that has brought nothing for so long as makes a connection idle does not
    count any more, for it may be gone.

    Args:
        hosts: how far each is.
        idle_ns: how long a connection may be without packets.
        now_ns: the present.
    """
    live = [each.latest_ns for each in hosts.values() if now_ns - each.read_ns <= idle_ns]
    return min(live, default=0)


class States:
    """The states of a stream, a folder for each batch.

    Attributes:
        log: of the folder of tables.
    """

    def __init__(self, stream: StreamJob) -> None:
        self.log = open_log(stream.job.out)
        self._checkpoint = stream.checkpoint
        self._name = stream.job.name or _NAME
        self._folder = f"{stream.checkpoint}/state"
        self._parts = stream.job.parts or DEFAULT_PARTS
        self._facts = StreamFacts(
            stream.folder, stream.job.out, self._name, stream.rules, kdiag.__version__
        )

    @cached_property
    def id(self) -> str:
        """Return what tells this stream from all others; it is in the checkpoint from the start."""
        uri = f"{self._checkpoint}/id"
        if (known := read_whole(uri)) is not None:
            return known.decode()
        made = uuid4().hex
        write_whole(uri, made.encode())
        return made

    def begin(self) -> None:
        """Write down what the stream follows.

        Raises:
            ReportError: if the checkpoint is closed or of another release, or the tables have
                batches of this name from another checkpoint.
        """
        if self.is_closed:
            why = "is closed: begin another with a folder of its own"
            raise ReportError(self._checkpoint, why)
        self.last(None)
        self._refuse_others()
        write_whole(f"{self._checkpoint}/stream.json", msgspec.json.encode(self._facts))

    def entry(self, job: Job, walks: Sequence[Walk], warnings: list[str]) -> LoggedRun:
        """Return the entry of a batch in the log, but for files and rows."""
        checkpoint = canonical(self._checkpoint)
        entry = job.entry(walks, warnings)
        return msgspec.structs.replace(entry, stream=self.id, checkpoint=checkpoint)

    def _refuse_others(self) -> None:
        batch = re.compile(rf"{re.escape(self._name)}-(\d{{8}}|{END}|{GROUPS})")
        for each in self.log.runs():
            if batch.fullmatch(each.run):
                refuse_others([each], LoggedRun(each.run, stream=self.id))

    @property
    def is_closed(self) -> bool:
        """Return whether the stream cannot go on."""
        return read_whole(f"{self._folder}.closed") is not None

    def mark_closed(self) -> None:
        """Let the stream never go on."""
        write_whole(f"{self._folder}.closed", b"")

    def folder(self, batch: int) -> str:
        """Return the folder of the state after a batch."""
        return f"{self._folder}/{batch:08}"

    def last(self, before: int | None) -> tuple[int, State]:
        """Return the last complete state, or the last before a batch.

        Raises:
            ReportError: if it is of another release.
        """
        for name in sorted(folders_in(self._folder), reverse=True):
            data = read_whole(f"{self._folder}/{name}/state.json")
            if data is not None and (before is None or int(name) < before):
                state = msgspec.json.decode(data, type=State)
                if state.format != FORMAT:
                    raise ReportError(self._folder, why_refused(state.format, state.kdiag))
                return int(name), state
        return NO_BATCH, State(FORMAT, self._parts)

    def write(self, batch: int, state: State) -> None:
        """Write the state after a batch: with this it is complete."""
        state = msgspec.structs.replace(state, kdiag=kdiag.__version__)
        write_whole(f"{self.folder(batch)}/state.json", msgspec.json.encode(state))

    def forget_before(self, batch: int) -> None:
        """Remove the states before that of a batch."""
        for name in folders_in(self._folder):
            if int(name) < batch:
                remove_folder(f"{self._folder}/{name}")
