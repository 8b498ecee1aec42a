"""Kafka for scapy: requests and responses as layers, to be sniffed, shown and crafted.

    >>> from kdiag.scapy import KafkaRequest, bind
    >>> bind(port=9092)
    >>> request = KafkaRequest(api="Metadata", version=1, client_id="me", body={"topics": None})
    >>> bytes(request).hex()
    '00000010000300010000000000026d65ffffffff'

`bind` makes TCP of a port dissect as Kafka, in both directions. `sniff(session=TCPSession)` puts
frames together from their segments; `rdpcap` alone shows those that begin with a segment.

A body is Kafka's own JSON, as `kdiag request` takes it, with `bytes` for binary fields. What
cannot be read stays bytes, and `show` says why. A response does not say what it answers: its API
and version are those of the request with its correlation id that was dissected last on the same
connection. Without one it is not decoded; `KafkaResponse.answers`, which `sr1` asks, and `read_as`
decode it later.

Secrets are in `body`, and not in what `show` and `repr` print. Until the login on a connection has
succeeded, what is damaged may hold its password anywhere, also in `client_id` and `tags`: of that
they print the size alone.

Source: scapy's "Adding new protocols"; the headers are those of `kdiag.wire.header`.
"""

import struct
from collections import OrderedDict
from copy import copy, deepcopy
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self, TypeAlias

import msgspec
from scapy.config import conf
from scapy.fields import (
    ConditionalField,
    Field,
    ShortEnumField,
    SignedIntField,
    SignedShortField,
)
from scapy.layers.inet import TCP
from scapy.packet import Packet, bind_layers, split_layers

from kdiag.errors import DecodeError, EncodeError
from kdiag.exchange.context.topic_names import TopicNames
from kdiag.exchange.dissection import Dissection
from kdiag.exchange.documents.body import Bodies, BodyForm
from kdiag.exchange.documents.document import without_surrogates
from kdiag.exchange.model import Connection, Exchange, LoginPhase, Status
from kdiag.exchange.secrets.login import LoginWatch
from kdiag.exchange.secrets.redaction import redact_body
from kdiag.wire import api_keys
from kdiag.wire.catalog import API_BY_KEY, APIS, Api
from kdiag.wire.codec.json_form import from_json, to_json
from kdiag.wire.codec.messages import decode, encode
from kdiag.wire.frame import DEFAULT_MAX_FRAME_BYTES, LENGTH_BYTES, Frame
from kdiag.wire.header import REQUEST_START, skip_tags
from kdiag.wire.schema import Struct

KAFKA_PORT: Final = 9092

Body: TypeAlias = dict[str, Any] | bytes | None
"""Kafka's JSON; bytes where that cannot be read; None is a message with all defaults."""

_KEYS_BY_NAME: Final = {api.name: api.key for api in APIS}
_NO_TAGS: Final = b"\0"
_NO_LENGTH: Final = -1
_SHORT_LINE: Final = 80
_KEYS: Final = range(1024)
_VERSIONS: Final = range(128)
_CONNECTION: Final = Connection(
    number=1, connection_id="", client="", broker="", first_ns=0, last_ns=0
)


def bind(port: int = KAFKA_PORT) -> None:
    """Let scapy take a port of TCP for that of a broker."""
    unbind(port)
    bind_layers(TCP, KafkaRequest, dport=port)
    bind_layers(TCP, KafkaResponse, sport=port)


def unbind(port: int = KAFKA_PORT) -> None:
    """Undo `bind`."""
    split_layers(TCP, KafkaRequest, dport=port)
    split_layers(TCP, KafkaResponse, sport=port)


class _ConnectionEnds(NamedTuple):
    """The two ends of a TCP connection."""

    client: tuple[str, int]
    broker: tuple[str, int]


class _AskedApi(NamedTuple):
    """What a request asks: an API in a version."""

    api: int
    version: int


class _Requests:
    """The requests that were dissected: what answers to them are, and which logins they follow."""

    _MOST: Final = 1 << 17

    def __init__(self) -> None:
        self._asked: OrderedDict[tuple[_ConnectionEnds, int], _AskedApi] = OrderedDict()
        self._logins: OrderedDict[_ConnectionEnds, LoginWatch] = OrderedDict()
        self._unproven: OrderedDict[tuple[_ConnectionEnds, int], Exchange] = OrderedDict()

    def add(self, ends: _ConnectionEnds, correlation_id: int, asked: _AskedApi) -> None:
        self._put(self._asked, (ends, correlation_id), asked)

    def find(self, ends: _ConnectionEnds, correlation_id: int) -> _AskedApi | None:
        return self._asked.get((ends, correlation_id))

    def may_hold_login(self, ends: _ConnectionEnds, request: Exchange) -> bool:
        """Return whether a request may hold a part of a login, as far as the packets show."""
        login = self._logins.get(ends) or LoginWatch()
        self._put(self._logins, ends, login)
        login.begin(request)
        if request.login is not LoginPhase.OVER:
            assert request.correlation_id is not None
            self._put(self._unproven, (ends, request.correlation_id), copy(request))
        login.complete(request)
        return request.pairing is Status.OPAQUE

    def answer_may_hold_login(self, ends: _ConnectionEnds, response: Exchange) -> bool:
        """Return the same of a response, which may show that the login has succeeded."""
        assert response.correlation_id is not None
        exchange = self._unproven.pop((ends, response.correlation_id), None)
        if exchange is None:
            return False
        exchange.response = response.response
        self._logins[ends].complete(exchange)
        return exchange.pairing is Status.OPAQUE

    def forget(self) -> None:
        self._asked.clear()
        self._logins.clear()
        self._unproven.clear()

    def _put(self, into: OrderedDict[Any, Any], key: Any, value: Any) -> None:
        """Keep a value as the newest one; forget the oldest if there are too many."""
        into[key] = value
        into.move_to_end(key)
        if len(into) > self._MOST:
            into.popitem(last=False)


_REQUESTS: Final = _Requests()


def forget_requests() -> None:
    """Forget the requests that were dissected, so that none is taken for that of a new capture."""
    _REQUESTS.forget()


class _VersionField(SignedShortField):
    """The version of an API; None is the newest that kdiag knows."""

    def addfield(self, pkt: Any, s: bytes, val: int | None) -> bytes:  # noqa: ARG002 - scapy's
        return super().addfield(pkt, s, pkt.known_version)


class _ClientIdField(Field[str | None, bytes]):
    """Text behind a length of two bytes; null has the length -1."""

    def addfield(self, pkt: Any, s: bytes, val: str | None) -> bytes:  # noqa: ARG002 - scapy's
        if val is None:
            return s + struct.pack(">h", _NO_LENGTH)
        data = val.encode(errors="surrogateescape")
        return s + struct.pack(">h", len(data)) + data

    def getfield(self, pkt: Any, s: bytes) -> tuple[bytes, str | None]:  # noqa: ARG002 - scapy's
        (size,) = struct.unpack_from(">h", s)
        if size < 0:
            return s[2:], None
        return s[2 + size :], s[2 : 2 + size].decode(errors="surrogateescape")

    def any2i(self, pkt: Any, x: Any) -> str | None:  # noqa: ARG002 - scapy's
        return x.decode(errors="surrogateescape") if isinstance(x, bytes) else x

    def i2repr(self, pkt: Any, x: str | None) -> str:
        size = len((x or "").encode(errors="surrogateescape"))
        return f"{size} bytes" if pkt.hides_client_id else repr(x)


class _TagsField(Field[bytes, bytes]):
    """The tagged fields of a header, as they are on the wire."""

    def addfield(self, pkt: Any, s: bytes, val: bytes | None) -> bytes:  # noqa: ARG002 - scapy's
        return s + (val or _NO_TAGS)

    def getfield(self, pkt: Any, s: bytes) -> tuple[bytes, bytes]:  # noqa: ARG002 - scapy's
        end = skip_tags(s, 0)
        return s[end:], s[:end]

    def i2repr(self, pkt: Any, x: bytes) -> str:  # noqa: ARG002 - scapy's
        return repr(x) if x in {b"", _NO_TAGS} else f"{len(x)} bytes"


class _AskedField(Field[int | None, bytes]):
    """What a response answers; it is not on the wire, but in the request."""

    def addfield(self, pkt: Any, s: bytes, val: int | None) -> bytes:  # noqa: ARG002 - scapy's
        return s

    def getfield(self, pkt: Any, s: bytes) -> tuple[bytes, int | None]:
        asked = pkt.find_asked()
        return s, asked and getattr(asked, self.name)

    def any2i(self, pkt: Any, x: Any) -> Any:  # noqa: ARG002 - scapy's
        return _KEYS_BY_NAME[x] if isinstance(x, str) else x

    def i2repr(self, pkt: Any, x: Any) -> str:  # noqa: ARG002 - scapy's
        return API_BY_KEY[x].name if self.name == "api" and x in API_BY_KEY else repr(x)


class _BodyField(Field[Body, bytes]):
    """The message in a frame."""

    ismutable = True

    def addfield(self, pkt: Any, s: bytes, val: Body) -> bytes:
        return s + (val if isinstance(val, bytes) else pkt.write_body(val or {}))

    def getfield(self, pkt: Any, s: bytes) -> tuple[bytes, Body]:
        head = len(pkt.original) - len(s)
        size = max(0, LENGTH_BYTES + pkt.size - head)
        return s[size:], pkt.read_body(s[:size])[0]

    def do_copy(self, x: Body) -> Body:
        return deepcopy(x)

    def i2repr(self, pkt: Any, x: Body) -> str:
        return str(pkt.body_text(x))


class _KafkaFrame(Packet):
    """What requests and responses have in common: a length, a header and a body."""

    is_response = False
    may_hold_login = False
    if TYPE_CHECKING:  # scapy finds fields by their names
        size: int | None
        api: Any
        version: int | None
        correlation_id: int
        client_id: str | None
        tags: bytes
        body: Any

    @property
    def known_api(self) -> Api | None:
        """Return the API, if kdiag knows it."""
        return API_BY_KEY.get(self.api)

    @property
    def known_version(self) -> int:
        """Return the version, the newest one if none was said."""
        api = self.known_api
        newest = api.versions.high if api else 0
        return newest if self.version is None else int(self.version)

    @property
    def problem(self) -> str:
        """Why the body could not be read; empty if it could."""
        if not isinstance(self.body, bytes):
            return ""
        missing = self.missing_bytes
        if missing > 0:
            return f"{missing} of {self.size} bytes are not in this segment: sniff with TCPSession"
        return self.read_body(self.body)[1]

    @property
    def missing_bytes(self) -> int:
        """Return how many bytes the frame announces and lacks; 0 or less if none."""
        return 0 if self.size is None else LENGTH_BYTES + self.size - len(self.self_build())

    def dissection(self) -> Dissection:
        """Return it as kdiag has it: an exchange without its other side, which reads itself."""
        data = bytes(self.self_build())[LENGTH_BYTES:]
        frame = Frame(data, self._size_of(data), 0, 0)
        version = None if self.known_api is None and self.is_response else self.known_version
        exchange = Exchange(
            number=1,
            connection=_CONNECTION,
            api_key=self.api,
            version=version,
            correlation_id=self.correlation_id,
            client_id=None if self.is_response else self.client_id,
            request=None if self.is_response else frame,
            response=frame if self.is_response else None,
        )
        return Dissection(exchange)

    def write_body(self, form: dict[str, Any]) -> bytes:
        """Return the bytes of a body.

        Raises:
            EncodeError: if the API is unknown, or the version cannot say that; tells the field.
        """
        cls = self._message_class()
        if cls is None:
            raise EncodeError("body", f"{self._asked_text()} is not known: give the body as bytes")
        return encode(from_json(cls, self.known_version, form), self.known_version)

    def read_body(self, data: bytes) -> tuple[Body, str]:
        """Return the message in a body, or its bytes and why it cannot be read."""
        cls = self._message_class()
        if cls is None:
            return data, self._why_unknown()
        try:
            message = decode(cls, self.known_version, data)
        except DecodeError as error:
            return data, str(error)
        return to_json(message, self.known_version), ""

    def body_text(self, body: Body) -> str:
        """Return a body as it is shown, without its secrets."""
        if body is None:
            return "None"
        if self.may_hold_login:
            size = len(self.self_build()) - LENGTH_BYTES
            return f"in {size} bytes that may hold a password: no login has succeeded before them"
        if isinstance(body, bytes):
            return f"{len(body)} bytes ({self.problem or 'given as bytes'})"  # there may be secrets
        text = msgspec.json.encode(without_surrogates(self._shown(body)))
        return msgspec.json.format(text, indent=0 if len(text) <= _SHORT_LINE else 2).decode()

    def copy(self) -> Self:
        """Return a copy, which shows no more than this one."""
        made = super().copy()
        made.may_hold_login = self.may_hold_login
        return made

    def guess_payload_class(self, payload: bytes) -> type[Packet]:  # noqa: ARG002 - scapy's
        """Take what is behind a frame for the next one."""
        return type(self)

    def post_build(self, pkt: bytes, pay: bytes) -> bytes:
        """Fill in the size."""
        if self.size is None:
            pkt = struct.pack(">i", len(pkt) - LENGTH_BYTES) + pkt[LENGTH_BYTES:]
        return pkt + pay

    @classmethod
    def tcp_reassemble(
        cls, data: bytes, metadata: dict[str, Any], session: dict[str, Any]
    ) -> Packet | None:
        """Return the whole frames that data begins with, one inside the other, then padding.

        All at once: a session that has to ask twice loses its place (scapy 2.8).
        """
        del session  # connections whose addresses differ alike share one
        end = _end_of_frame(data)
        if end < 0:
            return conf.raw_layer(data)  # its beginning was not seen
        if end > len(data):
            metadata["tcp_min_len"] = end
            return None
        whole = metadata.get("original")
        first = last = cls(data[:end], _underlayer=whole and whole[TCP])
        while 0 <= (size := _end_of_frame(data[end:])) <= len(data) - end:
            following = cls(data[end : end + size], _underlayer=last)
            last.add_payload(following)
            last, end = following, end + size
        if data[end:]:
            last.add_payload(conf.padding_layer(data[end:]))
        return first

    def ends(self) -> _ConnectionEnds | None:
        """Return the ends of the connection that it came on, if it came on any."""
        tcp: Any = self.underlayer
        while tcp is not None and not isinstance(tcp, TCP):
            tcp = tcp.underlayer
        if tcp is None or not hasattr(tcp.underlayer, "src"):
            return None
        ip: Any = tcp.underlayer
        ends = _ConnectionEnds((ip.src, tcp.sport), (ip.dst, tcp.dport))
        return _ConnectionEnds(ends.broker, ends.client) if self.is_response else ends

    def _message_class(self) -> type[Struct] | None:
        api = self.known_api
        if api is None or not api.versions.covers(self.known_version):
            return None
        return api.response_class() if self.is_response else api.request_class()

    def _asked_text(self) -> str:
        api = self.known_api
        return f"{api.name} v{self.known_version}" if api else f"API {self.api}"

    def _why_unknown(self) -> str:
        if self.api is None:
            return "its request was not seen"
        known = f": kdiag knows {self.known_api.versions}" if self.known_api else ""
        return f"{self._asked_text()} is not known{known}"

    def _size_of(self, data: bytes) -> int:
        return len(data) if self.size is None else self.size

    def _shown(self, body: dict[str, Any]) -> dict[str, Any]:
        """Return a body as `kdiag decode` shows it; one that cannot be built, as it is."""
        try:
            dissection = self.dissection()
        except (EncodeError, struct.error):
            body = deepcopy(body)
            redact_body(self.api, body, is_response=self.is_response)
            return body
        side = dissection.response if self.is_response else dissection.request
        assert side is not None
        shown, _ = Bodies(TopicNames(), BodyForm()).make(
            dissection, side, is_response=self.is_response
        )
        return shown or {}


class KafkaRequest(_KafkaFrame):
    """A request: length, header and body."""

    name = "Kafka request"
    fields_desc = [  # noqa: RUF012 - scapy's
        Field[int | None, int]("size", None, ">i"),
        ShortEnumField("api", api_keys.API_VERSIONS, {api.key: api.name for api in APIS}),
        _VersionField("version", None),
        SignedIntField("correlation_id", 0),
        ConditionalField(
            _ClientIdField("client_id", None, "s"), lambda pkt: pkt.header_version > 0
        ),
        ConditionalField(_TagsField("tags", _NO_TAGS, "s"), lambda pkt: pkt.header_version > 1),
        _BodyField("body", None, "s"),
    ]

    @property
    def header_version(self) -> int:
        """Return the version of the header; that of an unknown API is taken for 1."""
        return self.known_api.request_header_version(self.known_version) if self.known_api else 1

    @classmethod
    def dispatch_hook(cls, _pkt: bytes | None = None, *_: Any, **__: Any) -> type[Packet]:
        """Leave bytes that do not begin like a request to others."""
        return conf.raw_layer if _pkt and not _is_request(_pkt) else cls

    def post_dissect(self, s: bytes) -> bytes:
        """Remember what was asked, for the answer."""
        ends = self.ends()
        if ends is not None:
            _REQUESTS.add(ends, self.correlation_id, _AskedApi(self.api, self.known_version))
            self.may_hold_login = _REQUESTS.may_hold_login(ends, self.dissection().exchange)
        return s

    @property
    def hides_client_id(self) -> bool:
        """Return whether the client id may be a password, as that of a damaged frame may."""
        is_unread = isinstance(self.body, bytes) and self._message_class() is not None
        return self.may_hold_login or (is_unread and self.missing_bytes <= 0 and bool(self.problem))

    def hashret(self) -> bytes:
        """Return what a request shares with its response."""
        return struct.pack(">i", self.correlation_id)

    def mysummary(self) -> str:
        """Return one line: which API, from whom."""
        client = "a hidden client" if self.hides_client_id else self.client_id
        return f"Kafka {self._asked_text()} request {self.correlation_id} of {client}"


class KafkaResponse(_KafkaFrame):
    """A response: length, header and body; `api` and `version` are those of its request."""

    name = "Kafka response"
    is_response = True
    fields_desc = [  # noqa: RUF012 - scapy's
        Field[int | None, int]("size", None, ">i"),
        SignedIntField("correlation_id", 0),
        _AskedField("api", None, "s"),
        _AskedField("version", None, "s"),
        ConditionalField(_TagsField("tags", _NO_TAGS, "s"), lambda pkt: pkt.header_version > 0),
        _BodyField("body", None, "s"),
    ]

    @property
    def header_version(self) -> int:
        """Return the version of the header; without its request, that is a part of the body."""
        return self.known_api.response_header_version(self.known_version) if self.known_api else 0

    @classmethod
    def dispatch_hook(cls, _pkt: bytes | None = None, *_: Any, **__: Any) -> type[Packet]:
        """Leave bytes that do not begin like a response to others."""
        return conf.raw_layer if _pkt and not _is_frame(_pkt, LENGTH_BYTES) else cls

    def post_dissect(self, s: bytes) -> bytes:
        """Follow the login on the connection."""
        ends = self.ends()
        if ends is not None:
            exchange = self.dissection().exchange
            self.may_hold_login = _REQUESTS.answer_may_hold_login(ends, exchange)
        return s

    def find_asked(self) -> _AskedApi | None:
        """Return what the request with the same correlation id asked on the same connection."""
        ends = self.ends()
        return ends and _REQUESTS.find(ends, self.correlation_id)

    def read_as(self, api: int | str, version: int) -> Self:
        """Decode it as the answer to a request of an API, if it is not decoded; return itself."""
        if self.api is None and isinstance(self.body, bytes):
            data = self.body
            self.api, self.version = api, version
            end = skip_tags(data, 0) if self.header_version else 0
            self.tags, self.body = data[:end] or _NO_TAGS, self.read_body(data[end:])[0]
        return self

    def read_body(self, data: bytes) -> tuple[Body, str]:
        """Return the message in a body, or its bytes and why it cannot be read.

        A broker that does not know the version of an ApiVersions request answers in version 0.
        """
        body, why = super().read_body(data)
        if why and self.api == api_keys.API_VERSIONS and self.version:
            asked, self.fields["version"] = self.version, 0
            old, why_old = super().read_body(data)
            if not why_old:
                return old, ""
            self.fields["version"] = asked
        return body, why

    def answers(self, other: Packet) -> bool:
        """Return whether it has the correlation id of a request; if so, it is decoded."""
        is_answer = isinstance(other, KafkaRequest) and other.correlation_id == self.correlation_id
        if is_answer:
            self.read_as(other.api, other.known_version)
        return is_answer

    def hashret(self) -> bytes:
        """Return what a response shares with its request."""
        return struct.pack(">i", self.correlation_id)

    def mysummary(self) -> str:
        """Return one line: which API, to whom."""
        name = "" if self.api is None else f"{self._asked_text()} "
        return f"Kafka {name}response {self.correlation_id}"


def _end_of_frame(data: bytes) -> int:
    """Return where the frame ends that bytes begin with; -1 if they begin with none."""
    if len(data) < LENGTH_BYTES:
        return LENGTH_BYTES
    size = int.from_bytes(data[:LENGTH_BYTES], signed=True)
    return LENGTH_BYTES + size if 0 < size <= DEFAULT_MAX_FRAME_BYTES else -1


def _is_frame(data: bytes, least: int) -> bool:
    """Return whether bytes begin with a possible length."""
    size = int.from_bytes(data[:LENGTH_BYTES], signed=True)
    return len(data) >= LENGTH_BYTES + least and least <= size <= DEFAULT_MAX_FRAME_BYTES


def _is_request(data: bytes) -> bool:
    """Return whether bytes begin with a possible header of a request."""
    if not _is_frame(data, REQUEST_START.size):
        return False
    api_key, version, _ = REQUEST_START.unpack_from(data, LENGTH_BYTES)
    return api_key in _KEYS and version in _VERSIONS
