"""Every error code of Kafka in every answer, against the clients of kdiag's own commands.

    for end in run_matrix(cases(["CORRUPT_MESSAGE"]), workers=8):
        print(end.verdict, end.case)

Each worker has a lab of its own, whose broker refuses one kind of request with one error, always;
a command runs against it for `LIMIT_S` at most. The verdicts:

    named    stdout or stderr has the name of the error, or says in words what it means
    read     it ended with exit code 0 and has all that there is: the error does not matter to it
    moved    it says that a leader or coordinator is gone, and that is what the error means
    ended    it ended by itself with another exit code than 0
    unmet    the broker was not asked that
    SILENT   it still ran, and had not said the name
    UNTRUE   it said that leaders are gone, and the error says nothing of them
    LOST     it ended with exit code 0, and something was missing
    CRASHED  an exception escaped from it
"""

import json
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from importlib import import_module
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from signal import SIGKILL
from tempfile import TemporaryDirectory
from time import monotonic, sleep
from typing import Any, Final, NamedTuple, Self

import confluent_kafka
from confluent_kafka.admin import AdminClient

from kdiag.clock import SystemClock
from kdiag.lab.broker.lab_cluster import LabCluster, LabSettings
from kdiag.lab.broker.seed_records import seed_records
from kdiag.lab.controller.quorum_controller import NewTopic
from kdiag.lab.coordinator.group.group_config import GroupCoordinatorConfig
from kdiag.lab.fault.fault_book import FaultBook
from kdiag.lab.fault.grammar import parse_fault
from kdiag.lab.fault.rule import FLIPS
from kdiag.wire.error_code import CODE_BY_NAME
from kdiag_cli.app import app
from programs.kdiag_program import Done

LIMIT_S: Final = int(os.environ.get("KDIAG_ANSWER_LIMIT_S", "9"))
"""Five seconds, and what a busy machine takes to begin."""
ALL_ERRORS: Final = tuple(name for name, code in CODE_BY_NAME.items() if code)
BAD: Final = frozenset({"SILENT", "UNTRUE", "LOST", "CRASHED"})

_RECORDS: Final = 40
_COMMITTED: Final = 5
_AT_ONCE: Final = GroupCoordinatorConfig(
    group_initial_rebalance_delay_ms=0, group_min_session_timeout_ms=500
)
_MOVES: Final = frozenset(
    {
        "BROKER_NOT_AVAILABLE",
        "COORDINATOR_LOAD_IN_PROGRESS",
        "COORDINATOR_NOT_AVAILABLE",
        "ELECTION_NOT_NEEDED",
        "ELIGIBLE_LEADERS_NOT_AVAILABLE",
        "FENCED_LEADER_EPOCH",
        "LEADER_NOT_AVAILABLE",
        "LISTENER_NOT_FOUND",
        "NOT_COORDINATOR",
        "NOT_LEADER_OR_FOLLOWER",
        "OFFSET_NOT_AVAILABLE",
        "PREFERRED_LEADER_NOT_AVAILABLE",
        "REPLICA_NOT_AVAILABLE",
        "UNKNOWN_LEADER_EPOCH",
        "UNKNOWN_TOPIC_OR_PARTITION",
    }
)
_TIMED_OUT: Final = 6
_CRASHED: Final = 99
_MOMENT_S: Final = 0.5
"""How long a command may take to end after it has said what is wrong."""
_STEP_S: Final = 0.02
_OPEN_S: Final = 600
_GONE: Final = ("Metadata", "topics.errorCode", "UNKNOWN_TOPIC_OR_PARTITION")
"""What a broker says of a topic that was deleted: its commits have no lag."""
_IN_WORDS: Final = {
    "REBALANCE_IN_PROGRESS": ("generation 2", "no answer to JoinGroup"),
    "TOPIC_AUTHORIZATION_FAILED": ("not authorized", "the user may not"),
    "UNKNOWN_MEMBER_ID": ("generation 2", "no answer to JoinGroup"),
    "ILLEGAL_GENERATION": ("generation 2", "no answer to JoinGroup"),
    "UNSTABLE_OFFSET_COMMIT": ("in an open transaction",),
}
_NAMED_FAULTS: Final = ("orders[0]", "broker 1", "answer", "127.0.0.1:", "coordinator")
"""Words of sentences that say what is wrong where no error code does."""
_READ: Final = ("tail", "orders", "-o", "beginning", "-f", "%o\n")
_IN_GROUP: Final = (*_READ, "-g", "GROUP", "--yes")
_COMMANDS: Final = {
    "tail": (*_READ, "-e"),
    "tail -g": (*_IN_GROUP, "-e"),
    "tail -g --commit": (*_IN_GROUP, "-e", "--commit"),
    "member": (
        *_IN_GROUP,
        *("-X", "heartbeat.interval.ms=200", "-X", "session.timeout.ms=2000"),
    ),
    "groups NAME": ("groups", "GROUP", "-o", "json"),
    "groups": ("groups", "-o", "json"),
    "txn": ("txn", "list", "-o", "json"),
    "latency": ("latency", "--duration", "200ms", "--warm-up", "0s", "-o", "json"),
    "watch": ("rebalance", "watch", "GROUP", "--describe"),
    "find": ("find-coordinator", "GROUP", "-o", "json"),
}
_LOADED: Final = ("tail", "groups", "txn", "latency", "rebalance", "find_coordinator", "request")
_FORK: Final = get_context("fork")
_PARTS: Final = {
    ("Fetch", "responses.partitions.errorCode"): ("tail", "latency"),
    ("Fetch", "errorCode"): ("tail",),
    ("ListOffsets", "topics.partitions.errorCode"): ("tail", "groups NAME"),
    ("OffsetFetch", "groups.topics.partitions.errorCode"): ("tail -g", "groups NAME"),
    ("OffsetFetch", "groups.errorCode"): ("tail -g", "groups NAME"),
    ("OffsetCommit", "topics.partitions.errorCode"): ("tail -g --commit", "latency"),
    ("Metadata", "topics.partitions.errorCode"): ("tail", "groups NAME"),
    ("Metadata", "topics.errorCode"): ("tail", "groups NAME", "latency"),
    ("Metadata", "errorCode"): ("tail",),
    ("FindCoordinator", "coordinators.errorCode"): ("tail -g", "groups NAME", "find"),
    ("Heartbeat", "errorCode"): ("member",),
    ("JoinGroup", "errorCode"): ("tail -g",),
    ("SyncGroup", "errorCode"): ("tail -g",),
    ("DescribeGroups", "groups.errorCode"): ("groups NAME", "watch"),
    ("ListGroups", "errorCode"): ("groups",),
    ("ListTransactions", "errorCode"): ("txn",),
    ("DescribeTransactions", "transactionStates.errorCode"): ("txn",),
    ("DescribeProducers", "topics.partitions.errorCode"): ("txn",),
    ("Produce", "responses.partitionResponses.errorCode"): ("latency",),
}


class AnswerCase(NamedTuple):
    """What is wrong with an answer to a command, which is a key of `_COMMANDS`.

    Attributes:
        api: whose answer.
        field: where its error is; empty for a fault in its place.
        error: the error, or the effect of the fault.
        command: what asks.
    """

    api: str
    field: str
    error: str
    command: str

    @property
    def fault(self) -> str:
        """Return it in the grammar of faults."""
        where = f"error={self.error} field={self.field}" if self.field else self.error
        return f"{self.api} {where}"


class CaseEnd(NamedTuple):
    """How a command ended."""

    verdict: str
    case: AnswerCase
    code: int
    err: str


_ONCE: Final = "times=1"
SCRIPTED: Final = [
    *(AnswerCase("Fetch", "", f"empty={count}", "tail") for count in (1, 4, 9_999)),
    *(AnswerCase("Fetch", "", f"empty={count}", "tail -g --commit") for count in (4, 9_999)),
    *(AnswerCase("Fetch", "", f"leave_out{when}", "tail") for when in ("", f" {_ONCE}")),
    *(
        AnswerCase("Fetch", "", f"flip={field}{when}", command)
        for field in FLIPS
        for when in ("", f" {_ONCE}")
        for command in ("tail", "tail -g --commit")
    ),
    *(AnswerCase("Fetch", "", f"corrupt=-{place} {_ONCE}", "tail") for place in range(1, 400, 7)),
    *(
        AnswerCase(api, "", "drop=request", command)
        for (api, _), commands in _PARTS.items()
        for command in commands
        if command != "latency"
    ),
]
"""Answers without records, a partition or a whole batch, and requests that are never answered."""


def cases(errors: Iterable[str] = ALL_ERRORS) -> list[AnswerCase]:
    """Return the cases of some errors."""
    return [
        AnswerCase(api, field, error, command)
        for error in errors
        for (api, field), commands in _PARTS.items()
        for command in commands
    ]


def run_matrix(wanted: Sequence[AnswerCase], workers: int) -> Iterator[CaseEnd]:
    """Run cases in so many processes at a time; they mostly wait."""
    tasks, ends = _FORK.Queue(), _FORK.Queue()
    for each in [*wanted, *[None] * workers]:
        tasks.put(each)
    running = [_FORK.Process(target=_work, args=(tasks, ends)) for _ in range(workers)]
    for process in running:
        process.start()
    for _ in wanted:
        yield ends.get(timeout=20 * LIMIT_S)
    for process in running:
        process.join()


def _work(tasks: Any, ends: Any) -> None:
    """Run cases until there are no more."""
    with CommandForks() as kdiag, AnsweringLab(kdiag) as lab:
        for number, case in enumerate(iter(tasks.get, None)):
            ends.put(lab.run(case, f"g-{number}"))


class CommandForks:
    """Runs kdiag in processes that have it loaded, a tenth of a second each.

    They are children of a process without threads, which is made before those of a lab begin.
    """

    def __enter__(self) -> Self:
        """Start the process that forks."""
        self._pipe, other = _FORK.Pipe()
        self._process = _FORK.Process(target=_fork_commands, args=(other,))
        self._process.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop it."""
        self._pipe.send(None)
        self._process.join()

    def __call__(self, *arguments: str, until: str | None = None) -> Done:
        """Run a command, or kill it a moment after it has said something."""
        self._pipe.send((arguments, until))
        done: Done = self._pipe.recv()
        return done


def _fork_commands(pipe: Connection) -> None:
    for each in _LOADED:
        import_module(f"kdiag_cli.commands.{each}.command")
        import_module(f"kdiag_cli.commands.{each}.run")
    with TemporaryDirectory() as folder:
        files = [Path(folder, name) for name in ("out", "err")]
        for arguments, until in iter(pipe.recv, None):
            for file in files:
                file.write_bytes(b"")
            child = os.fork()
            if not child:
                _become(arguments, files)
            status = _end_of(child, files, until)
            pipe.send(Done(os.waitstatus_to_exitcode(status), *(f.read_text() for f in files)))


def _end_of(child: int, files: Sequence[Path], until: str | None) -> int:
    """Return the status of a command that has ended, or that has said what is waited for."""
    said_s: float | None = None
    while True:
        pid, status = os.waitpid(child, os.WNOHANG if until else 0)
        if pid:
            return status
        if until and said_s is None and any(until in file.read_text() for file in files):
            said_s = monotonic()
        if said_s is not None and monotonic() - said_s > _MOMENT_S:
            os.kill(child, SIGKILL)
            until = None
        sleep(_STEP_S)


def _become(arguments: Sequence[str], files: Sequence[Path]) -> None:
    """Run a command in place of this process."""
    sys.stdout, sys.stderr = (file.open("w") for file in files)
    for number, stream in enumerate((sys.stdout, sys.stderr), 1):
        os.dup2(stream.fileno(), number)
    code: Any = 0
    try:
        app(list(arguments), prog_name="kdiag")
    except SystemExit as end:
        code = end.code
    except BaseException as error:  # noqa: BLE001 - any other is a fault, which the verdict shows
        sys.stderr.write(f"{error!r}")
        code = _CRASHED
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(code if isinstance(code, int) else 1)


class AnsweringLab:
    """A lab with records, an open transaction, and one fault at a time."""

    def __init__(self, kdiag: CommandForks) -> None:
        """Take what runs commands."""
        self._kdiag = kdiag

    def __enter__(self) -> Self:
        """Start it."""
        self.faults = FaultBook(SystemClock())
        internal = [NewTopic(name, 1) for name in ("__transaction_state", "__consumer_offsets")]
        topics = (NewTopic("orders", 1), NewTopic("paid", 1), *internal)
        settings = LabSettings(topics=topics, group_config=_AT_ONCE, faults=self.faults)
        self.lab = LabCluster(settings)
        self.lab.__enter__()
        seed_records(self.lab, _RECORDS, SystemClock())
        self.writer = confluent_kafka.Producer(
            {
                "bootstrap.servers": self.lab.bootstrap,
                "transactional.id": "tx",
                "transaction.timeout.ms": 900_000,  # it is open as long as the matrix runs
            }
        )
        self.admin = AdminClient({"bootstrap.servers": self.lab.bootstrap})
        self.writer.init_transactions()
        self._open()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop it."""
        del self.writer, self.admin
        self.lab.__exit__(None, None, None)

    def run(self, case: AnswerCase, group: str) -> CaseEnd:
        """Run a command against an error that lasts."""
        if "GROUP" in _COMMANDS[case.command]:
            self._commit(group)
        if case.command == "txn" and monotonic() > self._opened_s + _OPEN_S:
            self.writer.abort_transaction()
            self._open()
        self.faults.add(parse_fault(case.fault))
        try:
            until = case.error if case.field else None
            done = self.ask(*_COMMANDS[case.command], group=group, until=until)
            (fault,) = self.faults.listed()
        finally:
            self.faults.clear()
        verdict = self._verdict(case, done, group, is_met=fault.fired_count > fault.passed_count)
        return CaseEnd(verdict, case, done.code, done.err)

    def ask(self, *arguments: str, group: str, until: str | None = None) -> Done:
        """Run a command for so long at most."""
        texts = [group if each == "GROUP" else each for each in arguments]
        limit = f"{LIMIT_S}s"
        return self._kdiag(*texts, "-b", self.lab.bootstrap, "--timeout", limit, until=until)

    def _open(self) -> None:
        """Open a transaction; a broker ends it after a quarter of an hour at the latest."""
        self.writer.begin_transaction()
        self.writer.produce("paid", b"v")
        self.writer.flush()
        self._opened_s = monotonic()

    def _commit(self, group: str) -> None:
        """Have a group that has read five records."""
        read = [confluent_kafka.TopicPartition("orders", 0, _COMMITTED)]
        wanted = [confluent_kafka.ConsumerGroupTopicPartitions(group, read)]
        self.admin.alter_consumer_group_offsets(wanted)[group].result()

    def _verdict(self, case: AnswerCase, done: Done, group: str, *, is_met: bool) -> str:
        said = [line for line in done.err.splitlines() if "to go on from here" not in line]
        text = "\n".join([*said, done.out])
        is_move = case.error in _MOVES
        is_whole = not done.code and self._is_whole(case.command, done, group)
        names = (case.error, *_IN_WORDS.get(case.error, ()))
        if not case.field:
            names = _NAMED_FAULTS
        verdicts = {
            "CRASHED": done.code == _CRASHED,
            "UNTRUE": case.field and not is_move and ("no leader" in text or "who leads" in text),
            "read": is_whole,
            "LOST": not done.code and case[:3] != _GONE,
            "named": any(each in text for each in names),
            "moved": is_move and done.err,
            "unmet": not is_met,
            "SILENT": done.code == _TIMED_OUT,
        }
        return next((name for name, holds in verdicts.items() if holds), "ended")

    def _is_whole(self, command: str, done: Done, group: str) -> bool:
        """Return whether a command that ended with 0 has all that there is."""
        if command == "tail":
            return len(done.out.splitlines()) == _RECORDS
        if command.startswith("tail"):
            lines = len(done.out.splitlines())
            return lines == _RECORDS - _COMMITTED and (
                "--commit" not in command or self._lag(group) == 0
            )
        if command == "groups NAME":
            (shown,) = json.loads(done.out)["data"]
            return shown["lag"] == _RECORDS - _COMMITTED and bool(shown["lag_exact"])
        data = json.loads(done.out)["data"]
        if command == "groups":
            return group in {each["group"] for each in data}
        if command == "txn":
            return [each["transactional_id"] for each in data] == ["tx"]
        return bool(data)

    def _lag(self, group: str) -> int | None:
        self.faults.clear()
        (shown,) = json.loads(self.ask(*_COMMANDS["groups NAME"], group=group).out)["data"]
        lag: int | None = shown["lag"]
        return lag
