"""The job of a run: the captures, the tables, and the rules by which they are made."""

from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import Final, NamedTuple

import pyarrow as pa

import kdiag
from kdiag.clock import ALWAYS, TimeRange
from kdiag.pcap.files.pcapng import Secrets
from kdiag.pipeline.decode import FlowRules
from kdiag.pipeline.input.captures import Wanted
from kdiag.pipeline.input.split import DEFAULT_SPLIT_BYTES, Split, Walk
from kdiag.pipeline.input.split_index import CaptureUris, shared_index
from kdiag.pipeline.input.split_packets import PERMISSIVE, Reading
from kdiag.pipeline.output.run_log import staging_folder
from kdiag.pipeline.rows.packets import HEADERS, PACKETS, POSITIONS
from kdiag.pipeline.shared import Shared
from kdiag.report.run_log import PARQUET_FILES, SCHEMA, LoggedRun, TableStore
from kdiag.report.tables.catalog import DEFAULT_CHOICE, TableChoice
from kdiag.report.uri import canonical

DEFAULT_CHUNK_BYTES: Final = 1 << 30
_RUN_NAME_DIGITS: Final = 12


class Job(NamedTuple):
    """The job of a run.

    Attributes:
        inputs: captures and folders of captures, as paths or URIs.
        out: the folder of tables; all machines must reach it by this name.
        name: of the run, whose files replace those of an earlier run of the same name. Empty to
            derive it from the inputs.
        choice: of tables.
        rules: for reading connections.
        topic_names: names of topic ids that are known beforehand.
        times: of the wanted packets.
        mode: for damaged files, `permissive` or `failfast`.
        parts: how many parts the connections are divided into; 0 to choose by the size.
        split_bytes: about how long a split is.
        chunk_bytes: about how many bytes of frames one task reads at most; an exchange counts for
            50,000 more than its own.
        is_indexed: whether payloads of plain files stay in the captures until a connection is
            decoded, which saves their shuffle; all machines must reach them.
        separates_networks: whether the same addresses in different VLANs or VXLAN networks are
            different.
        is_new: whether captures are left out that the log of the folder has already.
        is_hourly: whether the tables are divided by hours of a day, too; as files alone.
        store: where the tables are put.
        recorded: the splits that captures of rows are looked up in; None before they are known.
    """

    inputs: tuple[str, ...]
    out: str
    name: str = ""
    choice: TableChoice = DEFAULT_CHOICE
    rules: FlowRules = FlowRules()
    topic_names: tuple[tuple[str, str], ...] = ()
    times: TimeRange = ALWAYS
    mode: str = PERMISSIVE
    parts: int = 0
    split_bytes: int = DEFAULT_SPLIT_BYTES
    chunk_bytes: int = DEFAULT_CHUNK_BYTES
    is_indexed: bool = True
    separates_networks: bool = False
    is_new: bool = False
    is_hourly: bool = False
    store: TableStore = PARQUET_FILES
    recorded: Shared[list[Split]] | None = None

    @property
    def run(self) -> str:
        """Return the name of the run."""
        if self.name:
            return self.name
        return self.named_after(map(canonical, self.inputs)).name

    @property
    def wanted(self) -> Wanted:
        """Return what is wanted of the captures."""
        return Wanted(self.inputs, self.split_bytes, self.times)

    @property
    def packet_schema(self) -> pa.Schema:
        """Return the schema of packets on their way to a part."""
        positions = POSITIONS if self.is_indexed else ()
        return pa.schema([*PACKETS, *positions, *(HEADERS if self.choice.tcp else ())])

    @property
    def reading(self) -> Reading:
        """Return how packets are read."""
        columns = tuple(self.packet_schema.names)
        return Reading(columns, self.times, self.mode, self.separates_networks)

    @property
    def staging(self) -> str:
        """Return the folder of the run's staged files."""
        return staging_folder(self.out, self.run)

    def named_after(self, facts: Iterable[object]) -> "Job":
        """Return the job with a name that is made of facts about its captures, and its times."""
        text = "\n".join([*sorted(map(str, facts)), *map(str, self.times)])
        return self._replace(name=sha256(text.encode()).hexdigest()[:_RUN_NAME_DIGITS])

    def entry(self, walks: Sequence[Walk], warnings: list[str]) -> LoggedRun:
        """Return the entry of the run in the log of its folder, but for files and rows.

        Args:
            walks: through the captures that it reads.
            warnings: about them.
        """
        return LoggedRun(
            self.run,
            warnings=warnings,
            captures=[each.capture for each in walks],
            from_ns=self.times.from_ns,
            to_ns=self.times.to_ns,
            kdiag=kdiag.__version__,
            format=self.store.format,
            catalog=self.store.catalog,
            schema=SCHEMA,
        )

    def on(
        self,
        splits: Shared[list[Split]],
        secrets: tuple[Secrets, ...] = (),
        recorded: Shared[list[Split]] | None = None,
    ) -> "Job":
        """Return the job for the splits and the secrets of its captures, small enough to send.

        Args:
            splits: to read.
            secrets: of TLS connections.
            recorded: these and earlier ones of a stream; by default the same.
        """
        files = CaptureUris(splits) if self.is_indexed else ()
        rules = self.rules._replace(files=files, secrets=secrets, follows_tcp=self.choice.tcp)
        recorded = splits if recorded is None else recorded
        return self._replace(inputs=(), name=self.run, rules=rules, recorded=recorded)

    def capture_of(self, packet: int) -> str | None:
        """Return the capture that holds a packet; None if it is none of the recorded ones."""
        return None if self.recorded is None else shared_index(self.recorded).capture_of(packet)
