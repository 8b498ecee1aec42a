"""The disks of brokers: log directories that failed, and file systems that fill up.

Two looks at the usable bytes, some time apart, show how fast a file system fills. Nothing is said
of one that has room for longer than an hour, that does not get fuller, or whose looks are too close
to each other: a rate of a moment is none.

Source: KIP-113, KIP-827 (usable bytes); Kafka's `LogDirFailureChannel`.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from kdiag.clock import NS_PER_S
from kdiag.diagnosis.check.report import listed
from kdiag.exchange.line.phrase import size
from kdiag.findings.finding import Finding, found
from kdiag.wire.error_code import CODE_BY_NAME, error_name

NEARLY_FULL: Final = 0.2
"""The part of a file system that is left when it is worth a second look."""

LEAST_APART_NS: Final = NS_PER_S
_HORIZON_S: Final = 3_600
_LEAST_FALL_BYTES: Final = 1_000_000
_S_PER_MINUTE: Final = 60
_STORAGE: Final = CODE_BY_NAME["KAFKA_STORAGE_ERROR"]


class LogDir(NamedTuple):
    """A log directory of a broker, as it reported it.

    Attributes:
        node_id: the broker.
        path: the directory.
        error_code: 0 if it is in service.
        total_bytes, usable_bytes: of its file system; -1 if not known (before Kafka 3.3).
        filled_bytes: how many fewer were usable than at an earlier look; None without one.
        apart_ns: how long before that was.
    """

    node_id: int
    path: str
    error_code: int
    total_bytes: int = -1
    usable_bytes: int = -1
    filled_bytes: int | None = None
    apart_ns: int = 0

    @property
    def is_nearly_full(self) -> bool:
        """Return whether little of its file system is left, as far as that is known."""
        return 0 <= self.usable_bytes < NEARLY_FULL * self.total_bytes


def failed_dirs(log_dirs: Sequence[LogDir]) -> dict[int, list[str]]:
    """Return the directories that a broker took out of service after an error, by node id."""
    failed: dict[int, list[str]] = {}
    for each in log_dirs:
        if each.error_code == _STORAGE:
            failed.setdefault(each.node_id, []).append(each.path)
    return failed


def disk_findings(
    log_dirs: Sequence[LogDir], offline: Mapping[int, Mapping[str, int | str]]
) -> Iterator[Finding]:
    """Yield what is wrong with disks.

    Args:
        log_dirs: what brokers reported.
        offline: how many replicas of a broker are offline, and which, by node id.
    """
    for node_id, paths in sorted(failed_dirs(log_dirs).items()):
        lost = offline.get(node_id, {"count": 0, "partitions": ""})
        shown = f": {lost['count']} replicas are offline, {lost['partitions']}"
        yield found(
            "KD2010",
            node_id=node_id,
            path=listed(sorted(paths)),
            error=error_name(_STORAGE),
            **lost,
            lost=shown if lost["count"] else "",
        )
    for each in log_dirs:
        filled = each.filled_bytes
        if filled is None or filled < _LEAST_FALL_BYTES or each.apart_ns < LEAST_APART_NS:
            continue
        per_s = filled * NS_PER_S / each.apart_ns
        left_s = each.usable_bytes / per_s
        if left_s < _HORIZON_S:
            yield found(
                "KD2011",
                node_id=each.node_id,
                path=each.path,
                minutes=max(1, round(left_s / _S_PER_MINUTE)),
                usable=size(each.usable_bytes),
                total=size(each.total_bytes),
                per_s=size(round(per_s)),
                looked_s=round(each.apart_ns / NS_PER_S, 1),
            )
