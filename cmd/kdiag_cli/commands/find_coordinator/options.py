"""The options of `kdiag find-coordinator`, validated, and the keys that they amount to."""

import sys
from collections.abc import Sequence
from typing import Final, NamedTuple

import typer

from kdiag.client.cluster_client import ClusterClient
from kdiag.findings.rule import Severity
from kdiag.probe.coordinator.share_keys import share_keys
from kdiag.wire.coordinator_partition import CoordinatorKind

COMMAND: Final = "find-coordinator"

_MAX_NAMES: Final = 100_000
_MAX_NAME_BYTES: Final = 250


class FindCoordinatorOptions(NamedTuple):
    """The options of `kdiag find-coordinator`.

    Attributes:
        names: as given; `-` stands for the lines of stdin.
        is_transactional: whether the names are transactional ids.
        is_share: whether the names are share groups, or partitions of them.
        is_watching: whether to go on asking.
        interval_ns: how often to ask then.
        looks: after how many looks to end then; None for never.
        shows_moves: whether to show how all groups spread over the brokers instead.
        fail_on: the least severity of a finding that makes the exit code 1.
        has_headers: whether a table has a line of column names.
    """

    names: Sequence[str]
    is_transactional: bool
    is_share: bool
    is_watching: bool
    interval_ns: int
    looks: int | None
    shows_moves: bool
    fail_on: Severity
    has_headers: bool

    @property
    def kind(self) -> CoordinatorKind:
        """Return what the names are."""
        if self.is_share:
            return CoordinatorKind.SHARE
        return CoordinatorKind.TRANSACTION if self.is_transactional else CoordinatorKind.GROUP


def check(options: FindCoordinatorOptions) -> None:
    """Refuse what contradicts itself.

    Raises:
        typer.BadParameter: with what would be right.
    """
    if options.is_transactional and options.is_share:
        raise typer.BadParameter("choose one of --txn and --share")
    if bool(options.names) == options.shows_moves:
        raise typer.BadParameter("give names, or --moves alone", param_hint="NAME")
    if not all(options.names):
        raise typer.BadParameter("a name is not empty", param_hint="NAME")
    if options.looks is not None and not options.is_watching:
        raise typer.BadParameter("is for --watch", param_hint="'--count'")


def all_names(names: Sequence[str]) -> list[str]:
    """Return the names, each once, with the lines of stdin in the place of `-`."""
    listed: list[str] = []
    for name in names:
        if name == "-":
            lines = sys.stdin.readlines(_MAX_NAMES * _MAX_NAME_BYTES)
            listed += [name for line in lines if (name := line.rstrip("\n"))]
        else:
            listed.append(name)
    return list(dict.fromkeys(listed))


def keys_of(client: ClusterClient, kind: CoordinatorKind, names: Sequence[str]) -> list[str]:
    """Return the keys to ask for: of share groups, those of their partitions."""
    return share_keys(client, names) if kind is CoordinatorKind.SHARE else list(names)
