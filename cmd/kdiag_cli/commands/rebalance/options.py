"""The options of `kdiag rebalance explain`, validated."""

import re
from collections.abc import Sequence
from contextlib import suppress
from datetime import tzinfo
from pathlib import Path
from typing import NamedTuple

import typer

from kdiag.errors import ConfigError
from kdiag.exchange.line.quantities import parse_zone
from kdiag.findings.rule import Severity
from kdiag_cli.options.captures import CaptureInputs
from kdiag_cli.options.live import LiveOptions, client_config
from kdiag_cli.options.quantities import usage_errors

COMMAND = "rebalance explain"
_FILE_NAME = re.compile(r"/|\.(pcap|pcapng|cap)\b")


class ExplainOptions(NamedTuple):
    """What to explain, and how.

    Attributes:
        inputs: captures and how they are read; no files if there are none.
        logs: of brokers.
        log_zone: of their times.
        groups: those to tell of; all if there are none.
        is_cluster_asked: whether records of a cluster are read.
        generation: the one to show in full; None for all in a table.
        html: the page to write; None for none.
        fail_on: the least severity of a finding that makes the exit code 1.
        has_headers: whether tables have lines of column names.
    """

    inputs: CaptureInputs
    logs: Sequence[Path]
    log_zone: tzinfo
    groups: frozenset[str]
    is_cluster_asked: bool
    generation: int | None
    html: Path | None
    fail_on: Severity
    has_headers: bool


class Named(NamedTuple):
    """What the arguments of the command are.

    Attributes:
        files: captures, and folders of captures.
        groups: of a cluster.
        is_cluster_asked: whether the options name one.
    """

    files: Sequence[str]
    groups: Sequence[str]
    is_cluster_asked: bool


def read_names(names: Sequence[str], live: LiveOptions) -> Named:
    """Return which arguments are captures, and which are groups.

    Without a cluster all are captures; with one, those that exist as files. Where no option names a
    cluster, the settings are asked for one only for a name that does not look like a file's.
    """
    files = [each for each in names if each == "-" or Path(each).exists()]
    groups = [each for each in names if each not in files]
    is_cluster_asked = bool(
        live.bootstrap_servers or live.profile or live.config_file or live.properties
    )
    if not is_cluster_asked and groups and not any(_FILE_NAME.search(each) for each in groups):
        with suppress(ConfigError):
            is_cluster_asked = bool(client_config(live, can_ask=False).bootstrap_servers)
    if is_cluster_asked:
        return Named(files, groups, is_cluster_asked=True)
    return Named(names, (), is_cluster_asked=False)


def read_zone(text: str) -> tzinfo:
    """Return the zone of logs.

    Raises:
        typer.BadParameter: it is not one, or is the zone of this machine, not of the broker's.
    """
    with usage_errors("--log-zone"):
        zone = parse_zone(text)
    if zone is None:
        why = "name the zone of the broker's machine, such as +02:00 or Europe/Berlin"
        raise typer.BadParameter(why, param_hint="'--log-zone'")
    return zone
