"""What administrators changed in a capture, for whoever asks what happened just before.

22:51:23.664  adminclient-1  IncrementalAlterConfigs  strict: min.insync.replicas=2
22:51:55.561  second         JoinGroup                fleet-2: group.instance.id host-1
"""

from collections import deque
from typing import Any, Final, NamedTuple

from kdiag.clock import NS_PER_S
from kdiag.exchange.dissection import Dissection
from kdiag.exchange.secrets.redaction import REDACTED, is_secret_config
from kdiag.wire import api_keys

BEFORE_NS: Final = 60 * NS_PER_S
"""What happened longer before is not called a cause."""

_MOST: Final = 1_000
_MOST_SETTINGS: Final = 3
OF_INSTANCES: Final = frozenset({"FENCED_INSTANCE_ID", "UNRELEASED_INSTANCE_ID"})
"""The errors of members whose group.instance.id another member has."""

_OF_MEMBERS: Final = frozenset(
    {
        *(api_keys.JOIN_GROUP, api_keys.SYNC_GROUP, api_keys.HEARTBEAT),
        *(api_keys.OFFSET_COMMIT, api_keys.CONSUMER_GROUP_HEARTBEAT),
    }
)


class Change(NamedTuple):
    """A change that a broker accepted.

    Attributes:
        time_ns: when it was asked for.
        client: who asked.
        subjects: the topics, groups or brokers that it is about.
        text: what changed.
    """

    time_ns: int
    client: str
    subjects: frozenset[str]
    text: str


class Changes:
    """Keeps the latest changes."""

    def __init__(self) -> None:
        self._kept: deque[Change] = deque(maxlen=_MOST)

    def add(self, dissection: Dissection) -> None:
        """Add an exchange that was read and answered, if it changes something."""
        change = change_of(dissection)
        if change is not None:
            self.put(change)

    def put(self, change: Change) -> None:
        """Add a change, those in the order of time."""
        self._kept.append(change)

    def before(self, time_ns: int, subject: str) -> str:
        """Return the last change of a subject shortly before a time; empty if there is none."""
        for each in reversed(self._kept):
            if 0 <= time_ns - each.time_ns <= BEFORE_NS and subject in each.subjects:
                seconds = (time_ns - each.time_ns) / NS_PER_S
                return f"{seconds:,.2f} s after {each.client} {each.text}"
        return ""


class Instances:
    """Keeps which connections use a group.instance.id, of which one process may have each."""

    def __init__(self) -> None:
        self._users: dict[str, dict[str, dict[int, str]]] = {}

    def add(self, dissection: Dissection) -> None:
        """Add an exchange that was read: the member that asks may name its instance."""
        instance = instance_of(dissection)
        if instance is None or dissection.request is None:
            return
        connection, group = dissection.exchange.connection, dissection.request.message.group_id
        client = dissection.exchange.client_id or connection.client
        self.put(group, instance, connection.number, client)

    def put(self, group: str, instance: str, connection: int, client: str) -> None:
        """Add a client that uses an instance of a group on a connection."""
        if group and len(self._users) < _MOST:
            users = self._users.setdefault(group, {}).setdefault(instance, {})
            if len(users) < _MOST:
                users.setdefault(connection, client)

    def shared(self, group: str) -> list[str]:
        """Return which instances of a group several connections used, and who these are."""
        return [
            f"group.instance.id {instance} is used by {' and '.join(dict.fromkeys(users.values()))}"
            for instance, users in self._users.get(group, {}).items()
            if len(users) > 1
        ]


def change_of(dissection: Dissection) -> Change | None:
    """Return what an exchange changes; None if nothing, or if the broker refused it."""
    exchange = dissection.exchange
    read = _READERS.get(exchange.api_key or 0)
    request = dissection.request if read is not None else None
    if read is None or request is None or request.message is None:
        return None
    if dissection.response is None or dissection.error_code:
        return None
    subjects, text = read(request.message)
    client = exchange.client_id or exchange.connection.client
    return Change(exchange.time_ns, client, frozenset(subjects), text)


def instance_of(dissection: Dissection) -> str | None:
    """Return the group.instance.id of the member that sends a request; None if it has none."""
    request = dissection.request if dissection.exchange.api_key in _OF_MEMBERS else None
    message = None if request is None else request.message
    instance: str | None = getattr(message, "group_instance_id", None) or getattr(
        message, "instance_id", None
    )
    return instance or None


def _altered(message: Any) -> tuple[list[str], str]:
    settings = [
        f"{each.name}={REDACTED if is_secret_config(each.name) else each.value}"
        for resource in message.resources or ()
        for each in resource.configs or ()
    ]
    shown = ", ".join(settings[:_MOST_SETTINGS])
    more = f" and {len(settings) - _MOST_SETTINGS} more" if len(settings) > _MOST_SETTINGS else ""
    return [each.resource_name for each in message.resources or ()], f"set {shown}{more}"


def _deleted(message: Any) -> tuple[list[str], str]:
    named = [each.name for each in message.topics or () if each.name]
    return [*named, *(message.topic_names or ())], "deleted it"


def _denied(message: Any) -> tuple[list[str], str]:
    return [each.resource_name for each in message.creations or ()], "created an ACL on it"


def _removed_acls(message: Any) -> tuple[list[str], str]:
    named = [each.resource_name_filter for each in message.filters or ()]
    return [name for name in named if name], "deleted an ACL on it"


def _moved(message: Any) -> tuple[list[str], str]:
    return [each.name for each in message.topics or ()], "reassigned its partitions"


_READERS: Final = {
    api_keys.ALTER_CONFIGS: _altered,
    api_keys.INCREMENTAL_ALTER_CONFIGS: _altered,
    api_keys.DELETE_TOPICS: _deleted,
    api_keys.CREATE_ACLS: _denied,
    api_keys.DELETE_ACLS: _removed_acls,
    api_keys.ALTER_PARTITION_REASSIGNMENTS: _moved,
}
"""What reads the change in a request of each API."""
