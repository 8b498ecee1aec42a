"""The protocol of a connection: detected at its start, then read.

Both directions go to an `Opening` until that knows the protocol. Then each gets a consumer for
the rest:

    Kafka    a `FrameStream`, both feeding one `Matcher`
    TLS      a `TlsSide`; what is inside goes to an `Opening` of its own
    other    nothing: the bytes are counted
"""

from typing import Final, NamedTuple, Protocol

from kdiag.exchange.model import Connection, Gap
from kdiag.exchange.model import Protocol as Carried
from kdiag.pcap.kafka.conversation import Announcements, Conversation, SkipListener
from kdiag.pcap.kafka.detection import detect, is_bare_token
from kdiag.pcap.kafka.frame_stream import FrameLimits, Skip
from kdiag.pcap.kafka.matching import ExchangeCollector, Matcher, ReasonOf
from kdiag.pcap.kafka.opening import Opening, OpeningSide, Verdict
from kdiag.pcap.tcp.extent import Extents
from kdiag.pcap.tcp.reassembly import ByteConsumer, Nobody
from kdiag.pcap.tcp.segments import Segments
from kdiag.pcap.tls.keylog import KeyLog
from kdiag.pcap.tls.problem import tls_problem, told_alerts
from kdiag.pcap.tls.stream import TlsStream

_MIDSTREAM: Final = "the capture starts in the middle of the connection"
_KAFKA_PORTS: Final = range(9092, 9099)
"""The ports that people give to Kafka, as they are or with some ten thousands: 29092, 39093."""


class ReadingRules(NamedTuple):
    """How the connections of a run are read.

    Attributes:
        limits: the bounds of frames and searches.
        collector: numbers the exchanges and keeps the complete ones.
        frames: where frames are announced.
        keylog: the secrets of TLS connections, if some are known.
        keeps_places: whether frames note where in the stream they start.
    """

    limits: FrameLimits
    collector: ExchangeCollector
    frames: Announcements
    keylog: KeyLog | None
    keeps_places: bool = False


class EndpointNames(Protocol):
    """Knows the ends of connections by their numbers; see `kdiag.pcap.packets.address`."""

    def endpoint_text(self, endpoint: int) -> str:
        """Return an endpoint as `ip:port`."""
        ...


class Surroundings(NamedTuple):
    """The settings and sinks that all connections of a run share.

    Attributes:
        rules: how its bytes are read.
        max_waiting_bytes: how much may wait for bytes that come out of order, per direction.
        gaps: where gaps go.
        ended: where connections go after their last exchange.
        ports: those that carry Kafka whatever the bytes look like.
        addresses: turns an endpoint into `ip:port`.
        follows_tcp: whether connections get a tracker of TCP facts.
        keeps_leads: whether connections keep their first packet with bytes.
        extents: learn which packets are of which connection; None if nobody wants that.
    """

    rules: ReadingRules
    max_waiting_bytes: int
    gaps: list[Gap]
    ended: list[Connection]
    ports: frozenset[int]
    addresses: EndpointNames
    follows_tcp: bool = False
    keeps_leads: bool = False
    extents: Extents | None = None

    @property
    def reads_bytes_alone(self) -> bool:
        """Return whether packets without bytes are of no use but for where bytes begin and end."""
        return not self.follows_tcp and self.extents is None


class Unresolved(Protocol):
    """Something that may hold bytes that start a frame not announced yet."""

    def unresolved_packet(self, oldest: int) -> int | None:
        """Return the first packet, from `oldest` on, that brought such bytes."""
        ...


class Content:
    """Reads both directions of a connection.

    Attributes:
        consumers: read the bytes of side 0 and side 1; `decide` may replace them.
        forced_client: the side that must be the client of Kafka, because the user named the other
            one's port; None where the bytes tell.
        preamble_bytes: bytes of a proxy's preamble, by side.
        preamble_secrets: where in the client's bytes that has a password.
    """

    __slots__ = (
        "_connection",
        "_conversation",
        "_has_kafka_port",
        "_has_syn",
        "_opening",
        "_rules",
        "_skips",
        "_tls",
        "consumers",
        "forced_client",
        "preamble_bytes",
        "preamble_secrets",
    )

    def __init__(
        self,
        rules: ReadingRules,
        connection: Connection,
        skips: SkipListener,
        *,
        has_syn: bool,
    ) -> None:
        """Begin with the first bytes.

        Args:
            rules: how to read.
            connection: gets the protocol and the counts.
            skips: learns of bytes of which no frame can be made.
            has_syn: whether the first packet is a SYN, so that the first bytes are here.
        """
        self.forced_client: int | None = None
        self.preamble_bytes = (0, 0)
        self.preamble_secrets: tuple[tuple[int, int], ...] = ()
        self._has_kafka_port = False
        self._has_syn = has_syn
        self._rules = rules
        self._connection = connection
        self._skips: SkipListener | None = skips
        self._opening: Opening | None = Opening(rules.limits, has_syn=has_syn)
        self._tls: TlsStream | None = None
        self._conversation: Conversation | None = None
        self.consumers: tuple[ByteConsumer, ByteConsumer] = self._opening.sides

    @property
    def is_opening(self) -> bool:
        """Return whether something is still to be found out: call `decide` after more bytes."""
        return self._opening is not None

    @property
    def is_decided(self) -> bool:
        """Return whether the protocol is known."""
        return self._opening is None or self._tls is not None

    @property
    def is_encrypted(self) -> bool:
        """Return whether it is read out of TLS."""
        return self._tls is not None

    @property
    def is_plain(self) -> bool:
        """Return whether runs of any length may be added, one direction after the other."""
        if self._tls is not None:
            return self._tls.is_unreadable  # keys come from both ends, the bytes inside do, too
        is_searching = self._conversation is not None and self._conversation.is_searching
        return self.is_decided and not is_searching

    @property
    def is_settled(self) -> bool:
        """Return whether no bytes are kept that `decide` may still identify."""
        return self._opening is None or not any(each.total_bytes for each in self._opening.sides)

    @property
    def held_bytes(self) -> int:
        """Return what the bytes take that are kept."""
        held = 0 if self._opening is None else sum(each.held_bytes for each in self._opening.sides)
        return held if self._conversation is None else held + self._conversation.held_bytes

    @property
    def parts(self) -> list[Unresolved]:
        """Return the parts that may hold bytes that start a frame."""
        if self._opening is not None:
            return [*self._opening.sides]
        if self._conversation is not None:
            return [self._conversation.requests, self._conversation.responses]
        return []

    def learn_client(self, side: int) -> None:
        """Note which side is the client."""
        if self._opening is not None:
            self._opening.client = side

    def learn_port(self, port: int) -> None:
        """Note the broker's port."""
        self._has_kafka_port = port % 10_000 in _KAFKA_PORTS
        if self._opening is not None:
            self._opening.has_kafka_port = self._has_kafka_port

    def decide(self, known: int, client: int, *, is_over: bool = False) -> Verdict | None:
        """Return the protocol as soon as it is known; from then on it is read.

        Afterwards ask again: the protocol inside TLS is detected in the same way.

        Args:
            known: number of the packet that came last.
            client: the presumed client, where nothing tells.
            is_over: whether no more bytes will come.
        """
        opening = self._opening
        if opening is None:
            return None
        verdict = self._verdict(opening, is_over=is_over)
        if verdict is None:
            return None
        client = client if verdict.client is None else verdict.client
        self._opening = None
        self._connection.preamble = opening.preamble or self._connection.preamble
        if verdict.protocol is Carried.KAFKA:
            self._converse(opening, client, known)
        elif verdict.protocol is Carried.TLS and self._tls is None:
            self._enter_tls(opening, client, known)
        else:
            self._attach((Nobody(), Nobody()))
        if self._tls is None or verdict.protocol is Carried.KAFKA:
            self._connection.protocol = verdict.protocol
        return verdict

    def expect_runs(self, *, are_coming: bool) -> bool:
        """Let responses that lose their place wait for the requests; return whether they do.

        Args:
            are_coming: whether runs come, the responses' first; after them the losses are met.
        """
        if self._conversation is None:
            return False
        self._conversation.responses.waits_at_loss = are_coming
        return self._conversation.responses.is_behind

    def catch_up(self, before_packet: int | None = None) -> None:
        """Read responses that wait, as far as the requests were read."""
        if self._conversation is not None:
            self._conversation.responses.catch_up(before_packet)

    def flush(self, *, is_tail_lost: bool = False) -> None:
        """Hand over the last frames as far as they came: no more bytes will.

        Args:
            is_tail_lost: whether more bytes were sent than the capture has.
        """
        if self._conversation is not None:
            self._conversation.flush(is_tail_lost=is_tail_lost)

    @property
    def has_open_ends(self) -> bool:
        """Return whether requests or responses still wait for each other."""
        return self._conversation is not None and self._conversation.matcher.has_open_ends

    def give_up(self, reason_of: ReasonOf, *, lacks_requests: bool) -> None:
        """Give up the unanswered requests.

        Args:
            reason_of: tells why a request was not answered.
            lacks_requests: whether bytes of requests are missing.
        """
        assert self._conversation is not None
        is_sure = not lacks_requests and self._tls is None
        self._conversation.matcher.give_up_outstanding(reason_of, lacks_requests=not is_sure)

    def close(self) -> None:
        """Report the facts of TLS."""
        if self._tls is not None:
            facts = self._tls.facts
            connection = self._connection
            connection.tls_version, connection.sni = facts.version, facts.sni
            connection.tls_cipher_suite, connection.tls_alpn = facts.cipher_suite, facts.alpn
            connection.tls_alerts = told_alerts(facts)
            problem = tls_problem(facts, connection, has_keys=bool(self._rules.keylog))
            if problem is not None:
                connection.tls_problem, connection.tls_fault = problem

    def let_go(self) -> None:
        """Let go of all that is kept and of the listener, so that the memory is free at once."""
        if self._conversation is not None:
            self._conversation.let_go()
        if self._tls is not None:
            self._tls.let_go()
        self._opening = self._conversation = self._tls = None
        self._skips = None
        self.consumers = (Nobody(), Nobody())

    def _verdict(self, opening: Opening, *, is_over: bool) -> Verdict | None:
        """Return the protocol: the user's word, unless the first bytes are or may be TLS."""
        client = self.forced_client
        if client is None or not any(side.total_bytes for side in opening.sides):
            return opening.verdict(is_over=is_over)
        for side in opening.sides:
            first, is_cut = side.first_bytes()
            is_all = is_cut or is_over
            protocol = detect(first, self._rules.limits.max_frame_bytes, is_all=is_all)
            if protocol is Carried.TLS:
                return opening.verdict(is_over=is_over)
            if protocol is None and first:
                return None
        return Verdict(Carried.KAFKA, client)

    def _converse(self, opening: Opening, client: int, known: int) -> None:
        """Read requests and responses, beginning with the kept bytes."""
        first_bytes, _ = opening.sides[client].first_bytes()
        rules = self._rules
        matcher = Matcher(
            rules.collector,
            self._connection,
            is_sasl=is_bare_token(first_bytes),
            is_from_start=self._has_syn,
        )
        assert self._skips is not None
        conversation = Conversation(matcher, rules.frames, rules.limits, self._skips)
        self._conversation = conversation
        streams = conversation.requests, conversation.responses
        if rules.keeps_places and self._tls is None:
            low, high = opening.sides
            self.preamble_bytes = low.preamble_bytes, high.preamble_bytes
            self.preamble_secrets = opening.secrets
            streams[0].keeps_places = streams[1].keeps_places = True
        self._attach(streams if client == 0 else streams[::-1])
        for stream, side in zip(streams, (client, 1 - client), strict=True):
            kept = opening.sides[side]
            pieces = kept.kept()
            time_ns = pieces[-1].time_ns if pieces else self._connection.last_ns
            skip = Skip(0, kept.unread_bytes, time_ns, _MIDSTREAM, kept.unread_start)
            stream.skip(kept.preamble_bytes + kept.skipped_bytes, skip)
            stream.is_sure = self._has_syn and not kept.skipped_bytes
            if not kept.has_frame_start:
                stream.search(_MIDSTREAM)
            _feed(stream, kept, known)

    def _enter_tls(self, opening: Opening, client: int, known: int) -> None:
        """Read TLS records; the bytes inside have an opening of their own."""
        self._connection.protocol = Carried.TLS
        inside = Opening(self._rules.limits, has_syn=True)
        inside.client = client
        inside.has_kafka_port = self._has_kafka_port
        self._opening = inside
        self._tls = TlsStream(self._rules.keylog, client, inside.sides)
        self.consumers = self._tls.sides
        for consumer, kept in zip(self._tls.sides, opening.sides, strict=True):
            _feed(consumer, kept, known)

    def _attach(self, consumers: tuple[ByteConsumer, ByteConsumer]) -> None:
        """Replace the consumers of the bytes, of those inside TLS if there is TLS."""
        if self._tls is None:
            self.consumers = consumers
        else:
            self._tls.targets = [*consumers]


def _feed(consumer: ByteConsumer, side: OpeningSide, known: int) -> None:
    """Feed a consumer with the kept bytes of a direction."""
    pieces = side.kept()
    if pieces:
        consumer.add_segments(Segments.of_pieces(pieces), 0, len(pieces), known)
