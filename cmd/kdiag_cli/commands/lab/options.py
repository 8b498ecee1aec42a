"""What `kdiag lab` is asked for, read and checked.

--topic orders            one partition
--topic orders:3          three
--topic orders:3:2        three, with two replicas each
--listener SASL_SSL       on any port that is free
--listener ssl:9093       on this one
--fault 'Fetch delay=1s'  what goes wrong (`kdiag.lab.fault.grammar`)
-X group.max.size=3       what Kafka's brokers have in server.properties
"""

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Final, NamedTuple

import typer

from kdiag.clock import NS_PER_MS
from kdiag.errors import ConfigError
from kdiag.lab.broker.lab_cluster import MOST_NODES
from kdiag.lab.controller.broker_sessions import SESSION_TIMEOUT_NS
from kdiag.lab.controller.quorum_controller import DEFAULT, NewTopic
from kdiag.lab.controller.topic_names import fault_in_name
from kdiag.lab.coordinator.group.group_config import GroupCoordinatorConfig
from kdiag.lab.fault.fault_file import read_faults
from kdiag.lab.fault.grammar import parse_fault
from kdiag.lab.fault.rule import FaultRule
from kdiag.lab.replication.replication_config import ReplicationConfig
from kdiag.lab.security.listener import PLAINTEXT, PROTOCOLS, SSL
from kdiag.lab.security.users import CHECKED_MECHANISMS, MECHANISMS

LARGEST_PORT: Final = 65_535
INT32_MAX: Final = (1 << 31) - 1
SESSION_TIMEOUT: Final = "broker.session.timeout.ms"
SETTINGS: Final = (
    SESSION_TIMEOUT,
    *(
        name.replace("_", ".")
        for config in (GroupCoordinatorConfig, ReplicationConfig)
        for name in config._fields
    ),
)
"""The settings of brokers that a lab has."""
_MOST_PARTS: Final = 3


class LabFormat(StrEnum):
    """How the events of a lab are printed."""

    TEXT = "text"
    JSONL = "jsonl"


class LabListener(NamedTuple):
    """A listener that is asked for.

    Attributes:
        protocol: what it speaks.
        port: where; 0 for any that is free.
    """

    protocol: str
    port: int = 0


class LabSetting(NamedTuple):
    """A setting of brokers.

    Attributes:
        name: as Kafka names it.
        value: of it.
    """

    name: str
    value: int


class LabOptions(NamedTuple):
    """The options of `kdiag lab`.

    Attributes:
        topics: that are there from the beginning.
        host: where it listens.
        port: of the first listener; 0 for any that is free.
        folder: keeps its data; None for a temporary one.
        release: the Kafka release that it speaks as.
        is_json: whether events are printed as JSON, one a line.
        listeners: what it speaks.
        mechanisms: of SASL that are enabled.
        users_file: names and passwords.
        client_auth: whether TLS wants clients to have a certificate.
        client_folder: gets the settings for clients; None for one beside the data.
        seed_count: how many records empty topics get.
        capture: records the traffic.
        settings: of brokers, as Kafka names them.
        faults: what goes wrong from the beginning.
        control_port: where faults can be added; 0 for any that is free, None for nowhere.
        node_count: how many brokers.
    """

    topics: tuple[NewTopic, ...]
    host: str
    port: int
    folder: Path | None
    release: str
    is_json: bool
    listeners: tuple[LabListener, ...] = (LabListener(PLAINTEXT),)
    mechanisms: tuple[str, ...] = CHECKED_MECHANISMS
    users_file: Path | None = None
    client_auth: str = "none"
    client_folder: Path | None = None
    seed_count: int = 0
    capture: Path | None = None
    settings: tuple[LabSetting, ...] = ()
    faults: tuple[FaultRule, ...] = ()
    control_port: int | None = None
    node_count: int = 1

    @property
    def group_config(self) -> GroupCoordinatorConfig:
        """Return times and limits of groups."""
        return GroupCoordinatorConfig(**self._given(GroupCoordinatorConfig._fields))

    @property
    def replication_config(self) -> ReplicationConfig:
        """Return times and limits of replication."""
        return ReplicationConfig(**self._given(ReplicationConfig._fields))

    @property
    def session_timeout_ns(self) -> int:
        """Return how long a broker may be silent."""
        given = dict(self.settings).get(SESSION_TIMEOUT)
        return SESSION_TIMEOUT_NS if given is None else given * NS_PER_MS

    def _given(self, fields: Sequence[str]) -> dict[str, int]:
        """Return the settings of some fields that are given."""
        given = {name.replace(".", "_"): value for name, value in self.settings}
        return {name: given[name] for name in fields if name in given}


def read_topic(text: str) -> NewTopic:
    """Return the topic of `NAME[:PARTITIONS[:REPLICAS]]`.

    Raises:
        typer.BadParameter: if it is something else.
    """
    name, *numbers = text.split(":")
    fault = fault_in_name(name)
    if fault is not None:
        raise typer.BadParameter(fault)
    are_numbers = all(each.isascii() and each.isdigit() and len(each) < 10 for each in numbers)  # noqa: PLR2004 - what fits into an int32
    if len(numbers) >= _MOST_PARTS or not are_numbers:
        raise typer.BadParameter(f"{text!r}: expected NAME:PARTITIONS:REPLICAS, as in orders:3:2")
    partitions, replicas = ([int(each) for each in numbers] + [DEFAULT, DEFAULT])[:2]
    return NewTopic(name, partitions, replicas)


def read_fault(text: str) -> FaultRule:
    """Return the fault of a text.

    Raises:
        typer.BadParameter: if it is none.
    """
    try:
        return parse_fault(text, "the fault")
    except ConfigError as error:
        raise typer.BadParameter(str(error)) from None


def read_fault_files(paths: list[Path]) -> list[FaultRule]:
    """Return the faults of files.

    Raises:
        typer.BadParameter: if one cannot be read, or has something else.
    """
    try:
        return [fault for path in paths for fault in read_faults(path)]
    except ConfigError as error:
        raise typer.BadParameter(str(error), param_hint="'--faults'") from None


def read_listener(text: str) -> LabListener:
    """Return the listener of `PROTOCOL[:PORT]`.

    Raises:
        typer.BadParameter: if it is something else.
    """
    name, colon, port = text.partition(":")
    protocol = name.upper().replace("-", "_")
    if protocol not in PROTOCOLS:
        raise typer.BadParameter(f"{name!r} is none of {', '.join(PROTOCOLS)}")
    is_port = port.isascii() and port.isdigit() and int(port[:9]) <= LARGEST_PORT
    if colon and not is_port:
        raise typer.BadParameter(f"{text!r}: expected PROTOCOL:PORT, as in SASL_SSL:9093")
    return LabListener(protocol, int(port) if colon else 0)


def read_mechanism(text: str) -> str:
    """Return a mechanism of SASL.

    Raises:
        typer.BadParameter: if there is no such mechanism.
    """
    if text.upper() not in MECHANISMS:
        raise typer.BadParameter(f"{text!r} is none of {', '.join(MECHANISMS)}")
    return text.upper()


def read_setting(text: str) -> LabSetting:
    """Return the setting of `NAME=NUMBER`.

    Raises:
        typer.BadParameter: if a lab has no such setting, or it is not a number.
    """
    name, _, value = text.partition("=")
    if name not in SETTINGS:
        raise typer.BadParameter(f"{name!r} is none of {', '.join(SETTINGS)}")
    if not (value.isascii() and value.isdigit() and int(value[:11]) <= INT32_MAX):
        raise typer.BadParameter(f"{name}: {value!r} is not a number from 0 to {INT32_MAX}")
    return LabSetting(name, int(value))


def check_listeners(
    listeners: list[LabListener] | None, *, is_tls: bool = False
) -> tuple[LabListener, ...]:
    """Return the listeners; PLAINTEXT without any.

    Args:
        listeners: those that are asked for.
        is_tls: whether one with TLS is, too.

    Raises:
        typer.BadParameter: if one is there twice.
    """
    asked = [*(listeners or ()), *([LabListener(SSL)] if is_tls else ())]
    found = tuple(asked or [LabListener(PLAINTEXT)])
    names = [each.protocol for each in found]
    if len({*names}) < len(names):
        raise typer.BadParameter("a protocol has one listener", param_hint="'--listener'")
    return found


def check_nodes(nodes: int) -> int:
    """Return the number of brokers.

    Raises:
        typer.BadParameter: if there are too few or too many.
    """
    if not 1 <= nodes <= MOST_NODES:
        raise typer.BadParameter(f"{nodes} brokers: a lab has 1 to {MOST_NODES}")
    return nodes
