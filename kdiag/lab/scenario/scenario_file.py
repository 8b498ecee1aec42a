"""Files of scenarios: YAML, the errors in them with line and key, and their JSON schema.

`kdiag lab scenarios schema` prints the schema, for editors and other programs.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from kdiag.client.fetch.position import NoticeKind
from kdiag.diagnosis.rebalance.model import CauseKind
from kdiag.errors import ConfigError
from kdiag.findings.finding import RULES
from kdiag.lab.api.registry import DEFAULT_RELEASE
from kdiag.lab.broker.lab_cluster import LabSettings
from kdiag.lab.coordinator.group.group_config import GroupCoordinatorConfig
from kdiag.lab.fault.grammar import parse_fault
from kdiag.lab.replication.replication_config import ReplicationConfig
from kdiag.lab.scenario.scenario import (
    MemberClient,
    RequestsClient,
    Scenario,
    Step,
    TransactionClient,
    WantedFinding,
)
from kdiag.probe.destination import parse_destination
from kdiag.wire.catalog import API_BY_KEY, Api

if TYPE_CHECKING:
    from yaml import Node

MOST_BYTES: Final = 1 << 20
"""The largest file."""
SESSION_TIMEOUT: Final = "broker.session.timeout.ms"
SETTINGS: Final = frozenset(
    {
        SESSION_TIMEOUT,
        *(
            name.replace("_", ".")
            for config in (GroupCoordinatorConfig, ReplicationConfig)
            for name in config._fields
        ),
    }
)
"""The settings of brokers that a scenario may give."""

API_BY_NAME: Final[dict[str, Api]] = {each.name: each for each in API_BY_KEY.values()}

_PLACE: Final = re.compile(r"^(?P<why>.*?)(?: - at `\$?(?P<path>[^`]*)`)?$", re.DOTALL)
_STEP: Final = re.compile(r"\.([^.\[]+)|\[(\d+|\.\.\.)\]")
_KINDS: Final = {
    **dict.fromkeys(("leave", "crash", "pause", "resume", "subscribe"), MemberClient),
    "late_record": TransactionClient,
}
"""What a client has to be for a step."""
_OF_NODES: Final = frozenset({"stop_node", "kill_node", "start_node"})
_ACTIONS: Final = tuple(each for each in Step.__struct_fields__ if each != "after")


class _MisplacedError(Exception):
    """Something of a scenario is wrong: what, and where, as `disturb[2].fault`."""

    def __init__(self, path: str, why: str) -> None:
        super().__init__(why)
        self.path = path
        self.why = why


def read_scenario(path: Path) -> Scenario:
    """Return the scenario of a file.

    Raises:
        ConfigError: if it cannot be read, or holds something else.
    """
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
        if len(data) > MOST_BYTES:
            raise ConfigError("", str(path), f"has more than {MOST_BYTES} bytes")
        text = data.decode()
    except (OSError, ValueError) as error:
        raise ConfigError("", str(path), f"cannot be read: {error}") from None
    return parse_scenario(text, str(path))


def parse_scenario(text: str, origin: str) -> Scenario:
    """Return the scenario of a YAML document.

    Args:
        text: the document.
        origin: where it is from, for errors.

    Raises:
        ConfigError: if it is something else; names the line and the key.
    """
    document, root = _load(text, origin)
    try:
        scenario = msgspec.convert(document, Scenario)
        _check(scenario)
    except msgspec.ValidationError as error:
        found = _PLACE.match(str(error))
        assert found is not None
        raise _wrong(root, origin, found["path"] or "", found["why"]) from None
    except _MisplacedError as error:
        raise _wrong(root, origin, f".{error.path}", error.why) from None
    return scenario


def scenario_schema() -> dict[str, Any]:
    """Return the JSON schema of a file."""
    (schema,), components = msgspec.json.schema_components(
        (Scenario,), ref_template="#/$defs/{name}"
    )
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A scenario of a lab of kdiag",
        **schema,
        "$defs": components,
    }


def lab_settings(scenario: Scenario) -> LabSettings:
    """Return what the lab of a scenario is started with, but for its topics."""
    given = {name.replace(".", "_"): value for name, value in scenario.settings.items()}
    settings = LabSettings(
        release=scenario.release or DEFAULT_RELEASE,
        node_count=scenario.nodes,
        group_config=GroupCoordinatorConfig(
            **{"group_initial_rebalance_delay_ms": 0}
            | {key: given[key] for key in GroupCoordinatorConfig._fields if key in given}
        ),
        replication=ReplicationConfig(
            **{key: given[key] for key in ReplicationConfig._fields if key in given}
        ),
    )
    session_ms = scenario.settings.get(SESSION_TIMEOUT)
    if session_ms is None:
        return settings
    return settings._replace(session_timeout_ns=session_ms * 1_000_000)


def _load(text: str, origin: str) -> tuple[Any, "Node | None"]:
    """Return a document, and its nodes with their lines."""
    from yaml import SafeLoader, YAMLError, compose, safe_load  # noqa: PLC0415 - 20 ms

    try:
        return safe_load(text), compose(text, SafeLoader)
    except (YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        place = origin if mark is None else f"{origin}:{mark.line + 1}"
        problem = getattr(error, "problem", None) or "it is nested too deep or malformed"
        raise ConfigError("", place, f"is not YAML: {problem}") from None


def _wrong(root: "Node | None", origin: str, path: str, why: str) -> ConfigError:
    """Return the error of something in a document, with its line."""
    node, shown = root, path.lstrip(".")
    for key, number in _STEP.findall(path):
        within = getattr(node, "value", None)
        if not isinstance(within, list):
            break
        if key:
            found = next((each for each in within if _key_of(each) == key), None)
            if found is None:
                break
            node = found[1]
        elif number.isdigit() and int(number) < len(within):
            node = within[int(number)]
    line = 1 if node is None else node.start_mark.line + 1
    head = f"{shown}: " if shown else ""
    return ConfigError("", f"{origin}:{line}", f"{head}{why[:1].lower()}{why[1:]}")


def _key_of(pair: Any) -> Any:
    """Return the key of a pair of nodes."""
    return pair[0].value if isinstance(pair, tuple) else None


def _check(scenario: Scenario) -> None:
    """Refuse what is well formed and makes no sense."""
    for name in scenario.settings:
        if name not in SETTINGS:
            raise _MisplacedError("settings", f"{name!r} is none of {', '.join(sorted(SETTINGS))}")
    clients = _check_clients(scenario)
    for number, step in enumerate(scenario.disturb):
        _check_step(f"disturb[{number}]", step, scenario.nodes, clients)
    for number, wanted in enumerate(scenario.find):
        _check_wanted(f"find[{number}]", wanted)


def _check_clients(scenario: Scenario) -> dict[str, type]:
    """Check all clients, and return what each is, by name."""
    clients = [(f"clients[{n}]", each) for n, each in enumerate(scenario.clients)]
    clients += [
        (f"disturb[{n}].join", each.join)
        for n, each in enumerate(scenario.disturb)
        if each.join is not None
    ]
    seen: dict[str, type] = {}
    for path, client in clients:
        if client.name in seen:
            raise _MisplacedError(f"{path}.name", f"there is another client {client.name!r}")
        seen[client.name] = type(client)
        if isinstance(client, RequestsClient):
            _check_requests(path, client)
    return seen


def _check_wanted(path: str, wanted: WantedFinding) -> None:
    given = [each for each in (wanted.finding, wanted.cause, wanted.notice) if each is not None]
    if len(given) != 1:
        raise _MisplacedError(path, "one of finding, cause and notice was expected")
    if wanted.finding is not None and wanted.finding not in RULES:
        raise _MisplacedError(f"{path}.finding", f"{wanted.finding} is no finding of kdiag's")
    for key, given_kind, kinds in (
        ("cause", wanted.cause, CauseKind),
        ("notice", wanted.notice, NoticeKind),
    ):
        if given_kind is not None and given_kind not in set(kinds):
            raise _MisplacedError(f"{path}.{key}", f"{given_kind!r} is none of {', '.join(kinds)}")


def _check_requests(path: str, client: RequestsClient) -> None:
    if client.api not in API_BY_NAME:
        raise _MisplacedError(f"{path}.api", f"{client.api!r} is no API of Kafka's")
    try:
        parse_destination(client.to)
    except ValueError as error:
        raise _MisplacedError(f"{path}.to", str(error)) from None


def _check_step(path: str, step: Step, node_count: int, clients: Mapping[str, type]) -> None:
    taken = [each for each in _ACTIONS if getattr(step, each) not in (None, False, {})]
    if len(taken) > 1:
        raise _MisplacedError(path, f"one thing at a time; found {', '.join(taken)}")
    if not taken and step.after is None:
        raise _MisplacedError(path, f"one of after, {', '.join(_ACTIONS)} was expected")
    if step.fault is not None:
        try:
            parse_fault(step.fault, "fault")
        except ConfigError as error:
            raise _MisplacedError(f"{path}.fault", str(error)) from None
    if not taken:
        return
    key = taken[0]
    value: Any = getattr(step, key)
    kind = _KINDS.get(key)
    for name in [value] if isinstance(value, str) else value if key == "subscribe" else ():
        if kind is not None and clients.get(name) is not kind:
            what = kind.__struct_config__.tag
            raise _MisplacedError(f"{path}.{key}", f"{name!r} is no client of kind {what}")
    if key in _OF_NODES and not 1 <= value <= node_count:
        raise _MisplacedError(f"{path}.{key}", f"there are brokers 1 to {node_count}")
