"""An exchange with its bodies: both sides, decoded once and on demand, and their common facts."""

from typing import Any, Final

from kdiag.exchange.mentions import all_errors_of
from kdiag.exchange.model import Exchange, Status
from kdiag.exchange.side import Side, closed_by_fault, read_request, read_response
from kdiag.wire import api_keys
from kdiag.wire.catalog import API_NAMES
from kdiag.wire.error_code import error_name
from kdiag.wire.primitives import uuid_text
from kdiag.wire.schema import ZERO_UUID, Struct

SEVERITY: Final = {status: rank for rank, status in enumerate(Status)}
"""The rank of each status, the worst is 0; an exchange has the worst status of its parts."""

FIRST_FETCH_BY_ID: Final = 13
"""The first version of Fetch in which topics have ids and no names."""

_NO_NAMES: Final = frozenset({None, ""})
_GROUP_KEY_TYPE: Final = 0


class Dissection:
    """An exchange whose sides are decoded on first use.

    Attributes:
        exchange: the exchange.
        session_topics: for an incremental fetch, the (topic or topic id, partition) pairs of its
            session.
    """

    __slots__ = (
        "_error_code",
        "_request",
        "_response",
        "_status",
        "_topics",
        "exchange",
        "session_topics",
    )

    def __init__(self, exchange: Exchange) -> None:
        self.exchange = exchange
        self.session_topics = exchange.session_topics
        self._request: Side | None = None
        self._response: Side | None = None
        self._status: Status | None = None
        self._error_code: int | None = None
        self._topics: tuple[frozenset[str], frozenset[str]] | None = None

    def close(self, reason: str) -> None:
        """Close both sides as malformed: reading them has failed by a fault of kdiag's own."""
        self._request = closed_by_fault(self.exchange.request, reason)
        self._response = closed_by_fault(self.exchange.response, reason)
        self._status = self._error_code = self._topics = None

    @property
    def api(self) -> str | None:
        """Return Kafka's name of the API; None if it is not known."""
        return API_NAMES.get(self.exchange.api_key)

    @property
    def request(self) -> Side | None:
        """Return the request; None if it was not seen."""
        if self._request is None:
            self._request = read_request(self.exchange)
        return self._request

    @property
    def response(self) -> Side | None:
        """Return the response; None if there is none."""
        if self._response is None:
            self._response = read_response(self.exchange)
        return self._response

    @property
    def sides(self) -> list[Side]:
        """Return the sides that were seen."""
        return [side for side in (self.request, self.response) if side is not None]

    @property
    def status(self) -> Status:
        """Return the worst status of both sides and of the pairing."""
        if self._status is None:
            worst = self.exchange.pairing
            for side in (self.request, self.response):
                if side is not None and side.status is not Status.OK:
                    worst = min(worst, side.status, key=SEVERITY.__getitem__)
            self._status = worst
        return self._status

    @property
    def error_code(self) -> int:
        """Return the first error code of the response that is not 0, in field order, or 0."""
        if self._error_code is None:
            self._error_code = self.exchange.guessed_error
            response = self.response
            if response is not None and response.mentions is not None:
                first_error = response.mentions.first_error
                if first_error is not None:
                    self._error_code = first_error(response.message)
        return self._error_code

    @property
    def error(self) -> str | None:
        """Return Kafka's name of `error_code`; None for 0."""
        code = self.error_code
        return error_name(code) if code else None

    @property
    def error_codes(self) -> set[int]:
        """Return all error codes of the response that are not 0."""
        codes: set[int] = set()
        response = self.response
        if response is not None and response.mentions is not None and self.error_code:
            cls: type[Struct] = type(response.message)
            find = all_errors_of(cls, response.version)
            if find is not None:
                find(response.message, codes.add)
        return codes - {0}

    @property
    def topics(self) -> frozenset[str]:
        """Return the topics by name, of both sides and of the fetch session; see `topic_ids`."""
        return (self._topics or self._find_topics())[0]

    @property
    def topic_ids(self) -> frozenset[str]:
        """Return the topic ids of both sides, in Kafka's text form."""
        return (self._topics or self._find_topics())[1]

    @property
    def all_topics(self) -> tuple[frozenset[str], frozenset[str]]:
        """Return `topics` and `topic_ids`."""
        return self._topics or self._find_topics()

    def _find_topics(self) -> tuple[frozenset[str], frozenset[str]]:
        names: set[Any] = set()
        ids: set[bytes] = set()
        for side in (self.request, self.response):
            if side is not None and side.mentions is not None:
                find = side.mentions.topics
                if find is not None:
                    find(side.message, names, ids)
        names -= _NO_NAMES
        ids.discard(ZERO_UUID)
        if self.session_topics:
            self._topics = self._with_session(names, set(map(uuid_text, ids)))
        else:
            self._topics = frozenset(names), frozenset(map(uuid_text, ids))
        return self._topics

    def _with_session(
        self, names: set[str], ids: set[str]
    ) -> tuple[frozenset[str], frozenset[str]]:
        """Return topics and ids with those of the fetch session."""
        by_id = (self.exchange.version or 0) >= FIRST_FETCH_BY_ID
        (ids if by_id else names).update(topic for topic, _ in self.session_topics or ())
        return frozenset(names), frozenset(ids)

    @property
    def groups(self) -> set[str]:
        """Return the groups of both sides."""
        groups: set[Any] = set()
        for side in (self.request, self.response):
            if side is not None and side.mentions is not None and side.mentions.groups is not None:
                side.mentions.groups(side.message, groups)
        if self.exchange.api_key == api_keys.FIND_COORDINATOR and self.request is not None:
            asked = self.request.message
            if asked is not None and asked.key_type == _GROUP_KEY_TYPE:
                groups.update(asked.coordinator_keys or (asked.key,))
        return groups - _NO_NAMES

    @property
    def transactional_ids(self) -> set[str]:
        """Return the transactional ids of both sides."""
        ids: set[Any] = set()
        for side in (self.request, self.response):
            if (
                side is not None
                and side.mentions is not None
                and side.mentions.transactions is not None
            ):
                side.mentions.transactions(side.message, ids)
        return ids - _NO_NAMES
