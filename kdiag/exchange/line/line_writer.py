"""The summary of an exchange in one line that a tired operator can read: `request → response`.

    orders[0] 10 records 1.2 kB lz4, acks all → at 120
    group billing gen 3                              (the error is not in it: it has its own column)

Each API has a phrase for the request and one for the response, made of the fields that matter; an
API without phrases gets its topics, groups and first plain values. Texts from the wire are in the
line as they are: whoever prints it must make them harmless.
"""

import re
from collections.abc import Callable
from typing import Any, Final

from kdiag.exchange.context.topic_names import TopicNames
from kdiag.exchange.dissection import Dissection
from kdiag.exchange.line.administration import ADMINISTRATION
from kdiag.exchange.line.cluster import CLUSTER
from kdiag.exchange.line.groups import GROUPS
from kdiag.exchange.line.phrase import clause, count, listed, quoted, size
from kdiag.exchange.line.records import RECORDS, records_text
from kdiag.exchange.line.topics import UNKNOWN, Topics
from kdiag.exchange.line.transactions import TRANSACTIONS
from kdiag.exchange.model import Status
from kdiag.exchange.side import Side
from kdiag.wire.primitives import uuid_text
from kdiag.wire.schema import ZERO_UUID, Kind, Struct, fields_of

Phrase = Callable[[Any, Dissection, Topics], str]

PHRASES: Final[dict[int, tuple[Phrase | None, Phrase | None]]] = {
    **RECORDS,
    **GROUPS,
    **TRANSACTIONS,
    **ADMINISTRATION,
    **CLUSTER,
}
"""The phrases of request and response by API key; None for an empty one."""

_MAX_VALUES: Final = 4
_DULL: Final = frozenset({"throttle_time_ms", "error_code", "error_message", "timeout_ms"})


class LineWriter:
    """Writes the lines of exchanges, with topic names for the ids that are known."""

    def __init__(self, names: TopicNames) -> None:
        self._topics = Topics(names)

    def line_of(self, dissection: Dissection) -> str:
        """Return the line of an exchange: `request → response`."""
        parts = [self._side(dissection, dissection.request, is_response=False)]
        answer = self._side(dissection, dissection.response, is_response=True)
        has_phrases = (dissection.exchange.api_key or 0) in PHRASES
        is_repeated = not has_phrases and answer in parts[0]
        parts.append("" if is_repeated else answer)
        return " → ".join(part for part in parts if part)

    def _side(self, dissection: Dissection, side: Side | None, *, is_response: bool) -> str:
        if side is None:
            return ""
        if side.message is None:
            return side.why.reason if side.why is not None else ""
        if side.body is not None:
            return self._cut(side)
        api_key = dissection.exchange.api_key
        phrases = PHRASES.get(-1 if api_key is None else api_key)
        if phrases is None:
            text = self._values(side, is_response=is_response)
        else:
            phrase = phrases[is_response]
            text = phrase(side.message, dissection, self._topics) if phrase else ""
        throttled_ms = getattr(side.message, "throttle_time_ms", 0)
        message = dissection.error_code and getattr(side.message, "error_message", None)
        return clause(
            text,
            f"throttled {throttled_ms} ms" if throttled_ms else None,
            quoted(message) if message else None,
            side.note,
            None if side.why is None else _why_text(side),
        )

    def _cut(self, side: Side) -> str:
        """Return the text of an incomplete message: only of fields that were reached."""
        topics: set[Any] = set()
        ids: set[bytes] = set()
        groups: set[Any] = set()
        if side.mentions is not None and side.mentions.topics is not None:
            side.mentions.topics(side.message, topics, ids)
        if side.mentions is not None and side.mentions.groups is not None:
            side.mentions.groups(side.message, groups)
        names = topics | {self._topics.resolved(uuid_text(each)) for each in ids - {ZERO_UUID}}
        return clause(
            *(f"group {group}" for group in sorted(groups - {None, ""})),
            listed(sorted(names - {None, ""})),
            records_text(side.batches),
            _why_text(side),
        )

    def _values(self, side: Side, *, is_response: bool) -> str:
        """Return topics, lists and plain values of a message without a phrase of its own."""
        texts = []
        message = side.message
        cls: type[Struct] = type(message)
        for field in fields_of(cls):
            value = getattr(message, field.name)
            is_dull = value is None or value == field.default or field.name in _DULL
            if is_dull or not field.is_in(side.version):
                continue
            if field.is_array:
                texts.append(self._list(field.json_name, value))
            elif field.kind is Kind.UUID:
                texts.append(f"{field.json_name} {uuid_text(value)}")
            elif isinstance(value, bytes):
                texts.append(f"{field.json_name} {size(len(value))}")
            elif isinstance(field.kind, Kind) and not is_response:
                plain = str(value).lower() if isinstance(value, bool) else value
                texts.append(f"{field.json_name} {plain}")
        return clause(*texts[:_MAX_VALUES])

    def _list(self, name: str, value: list[Any]) -> str:
        if value and isinstance(value[0], str):
            return f"{name} {listed(value)}"
        if value and isinstance(value[0], Struct) and self._topics.name(value[0]) != UNKNOWN:
            return self._topics.partitions(value).replace("[]", "")
        return count(len(value), re.sub("ies$", "y", name).removesuffix("s"))


def _why_text(side: Side) -> str:
    """Return why a side is not whole."""
    assert side.why is not None
    if side.status is Status.PARTIAL and side.frame.gap_bytes:
        return f"{side.frame.gap_bytes} of {side.frame.size} bytes missing"
    place = f"{side.why.path} at byte {side.why.offset}: " if side.why.path else ""
    return f"{place}{side.why.reason}"
