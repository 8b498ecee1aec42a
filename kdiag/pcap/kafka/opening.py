"""The start of a connection, kept until its protocol is known.

With a SYN the client is known, and its first bytes decide. Otherwise both directions are searched
for requests; the one that has some is the client's. Where the capture has nothing of the client, a
chain of responses decides.
"""

from typing import Final, NamedTuple

from kdiag.exchange.model import Protocol
from kdiag.pcap.kafka.detection import ENOUGH_BYTES, detect, is_bare_token
from kdiag.pcap.kafka.frame_heuristics import RequestHeuristics
from kdiag.pcap.kafka.frame_stream import FrameLimits
from kdiag.pcap.kafka.preamble import MAX_PREAMBLE_BYTES, read_preamble
from kdiag.pcap.kafka.request_walk import RequestWalk, SeenAnswer, are_answered
from kdiag.pcap.kafka.response_walk import ResponseWalk
from kdiag.pcap.kafka.resync import NO_START, FrameSearch
from kdiag.pcap.tcp.segments import Piece, Segments, first_packet

_PIECE_OVERHEAD_BYTES: Final = 256
_ONE_SIDED_TIMES: Final = 16  # 64 MB, more than the 50 MB of `fetch.max.bytes`


class Verdict(NamedTuple):
    """The protocol of a connection, and its client.

    Attributes:
        protocol: the protocol.
        client: the side that asks; None if that is not known and does not matter.
    """

    protocol: Protocol
    client: int | None


class OpeningSide:
    """Keeps the bytes of one direction; drops the oldest when there are too many.

    Attributes:
        search: searches it for requests; None while its first bytes are better evidence.
        skipped_bytes: bytes of the stream before those kept.
        unread_bytes: those of them that are in the capture.
        unread_start: the first of these.
        total_bytes: bytes of the stream that came.
        has_frame_start: whether the kept bytes begin with a frame, if it is Kafka.
        preamble_bytes: bytes of a proxy's preamble in front of those.
    """

    __slots__ = (
        "_cost",
        "_limits",
        "_pieces",
        "_requests",
        "_walk",
        "has_frame_start",
        "preamble_bytes",
        "search",
        "skipped_bytes",
        "total_bytes",
        "unread_bytes",
        "unread_start",
    )

    def __init__(self, limits: FrameLimits) -> None:
        self.search: FrameSearch | None = None
        self.skipped_bytes = 0
        self.unread_bytes = 0
        self.unread_start = NO_START
        self.total_bytes = 0
        self.has_frame_start = True
        self.preamble_bytes = 0
        self._limits = limits
        self._pieces: list[Piece] = []
        self._cost = 0
        self._walk = ResponseWalk(limits.max_frame_bytes)
        self._requests = RequestWalk(limits.max_frame_bytes)

    @property
    def held_bytes(self) -> int:
        """Return what the kept bytes take."""
        if self.search is not None and not self.has_request:
            return self.search.held_bytes
        return self._cost

    @property
    def has_first_byte(self) -> bool:
        """Return whether the kept bytes are all that came."""
        return sum(piece.size for piece in self.kept()) == self.total_bytes > 0

    def unresolved_packet(self, oldest: int) -> int | None:
        """Return the first packet, from `oldest` on, that brought bytes kept."""
        return first_packet(self.kept(), oldest)

    @property
    def has_request(self) -> bool:
        """Return whether a search has found a request; the kept bytes begin with it."""
        return self.search is not None and self.search.found is not None

    def add_segments(self, segments: Segments, first: int, last: int, known: int = 0) -> None:
        """Keep copies of the next bytes of the direction."""
        self.total_bytes += segments.edge[last] - segments.edge[first]
        if self.search is not None and not self.has_request:
            first = self.search.add_segments(segments, first, last, known)
            self._keep_found(self.search)
        if self.search is None or self.has_request:
            for row in range(first, last):
                self._keep(segments.piece(row))

    def start_searching(self) -> None:
        """Search for a request in the kept bytes and those to come."""
        self.has_frame_start = False
        heuristics = RequestHeuristics(self._limits.max_frame_bytes, set())
        self.search = FrameSearch(heuristics, self._limits.max_search_bytes)
        pieces, self._pieces, self._cost = self._pieces, [], 0
        self.total_bytes = 0
        if pieces:
            self.add_segments(Segments.of_pieces(pieces), 0, len(pieces))

    def stop_searching(self) -> None:
        """Keep the bytes from the first one on: a frame starts with it."""
        if self.search is not None:
            self._pieces, self.search = self.search.pieces, None
        self.has_frame_start = True

    def flush(self) -> None:
        """Decide a search: no more bytes will come."""
        if self.search is not None and not self.has_request:
            self.search.flush()
            self._keep_found(self.search)

    def kept(self) -> list[Piece]:
        """Return the kept pieces, from a request on if one was searched and found."""
        if self.search is not None and not self.has_request:
            return self.search.pieces
        return self._pieces

    def sends_requests(self, *, is_over: bool) -> SeenAnswer:
        """Return whether the frames from the first byte on are requests.

        Args:
            is_over: whether no more bytes will come.
        """
        if self.skipped_bytes:
            return SeenAnswer.NO
        return self._requests.answer(self._pieces, is_over=is_over)

    def has_responses(self, *, is_over: bool) -> bool:
        """Return whether responses were found; then the kept bytes begin with the first of them.

        Args:
            is_over: whether no more bytes will come.
        """
        pieces = self.kept()
        if not self._walk.is_proved(pieces, self.total_bytes, is_over=is_over):
            return False
        offset = self.total_bytes - sum(piece.size for piece in pieces)
        while offset < self._walk.start:
            self._pass_over(pieces[0])
            offset += pieces.pop(0).size
        self.search, self._pieces, self.skipped_bytes = None, pieces, offset
        self.has_frame_start = True
        return True

    def pass_preamble(self, size: int) -> None:
        """Drop the bytes of a preamble, with which the stream starts."""
        self.preamble_bytes = size
        self.total_bytes -= size
        while size:
            piece = self._pieces.pop(0)
            if piece.size > size:
                self._pieces.insert(0, piece.part(size, piece.size))
            size -= min(size, piece.size)

    def first_bytes(self, enough: int = ENOUGH_BYTES) -> tuple[bytes, bool]:
        """Return the first bytes of the stream, and whether those behind them are missing."""
        found = b""
        if not self.skipped_bytes:
            for piece in self.kept():
                found += piece.data
                if len(piece.data) < piece.size:
                    return found, True
                if len(found) >= enough:
                    break
        return found, bool(self.skipped_bytes)

    def _keep(self, piece: Piece) -> None:
        self._pieces.append(piece)
        self._cost += len(piece.data) + _PIECE_OVERHEAD_BYTES
        while self._cost > self._limits.max_search_bytes and len(self._pieces) > 1:
            oldest = self._pieces.pop(0)
            self._cost -= len(oldest.data) + _PIECE_OVERHEAD_BYTES
            self.skipped_bytes += oldest.size
            self._pass_over(oldest)
            self.has_frame_start = False

    def _pass_over(self, piece: Piece) -> None:
        """Count a piece of which nothing can be made."""
        self.unread_bytes += len(piece.data)
        self.unread_start = self.unread_start.then(piece.packet, piece.data)

    def _keep_found(self, search: FrameSearch) -> None:
        """Keep the bytes from the found frame on, if a search has found one."""
        if search.found is None:
            return
        segments, self.skipped_bytes, self.unread_bytes, *_ = search.found
        self.unread_start = search.found.unread_start
        self.has_frame_start = True
        for row in range(len(segments.packet)):
            self._keep(segments.piece(row))


class Opening:
    """The bytes of a connection whose protocol is not known yet.

    Attributes:
        sides: keep the bytes of both ends.
        client: the side known to be the client; None if it is not known.
        preamble: the proxy's preamble that the bytes started with; None without any.
        secrets: where in the client's bytes that has a password.
        has_kafka_port: whether the other end has a port that is usual for brokers: where frames
            look like requests and do not decode, they are believed to be malformed ones.
    """

    __slots__ = (
        "_limits",
        "client",
        "has_kafka_port",
        "preamble",
        "secrets",
        "sides",
    )

    def __init__(self, limits: FrameLimits, *, has_syn: bool) -> None:
        """Keep nothing yet.

        Args:
            limits: the bounds of frames and of the kept bytes.
            has_syn: whether the first packet is a SYN, so that the first bytes are here.
        """
        self.client: int | None = None
        self.has_kafka_port = False
        self.preamble: str | None = None
        self.secrets: tuple[tuple[int, int], ...] = ()
        self.sides = OpeningSide(limits), OpeningSide(limits)
        self._limits = limits
        if not has_syn:
            for side in self.sides:
                side.start_searching()

    def verdict(self, *, is_over: bool = False) -> Verdict | None:
        """Return the protocol and the client, as soon as they are certain.

        Args:
            is_over: whether no more bytes will come; then there is always a verdict.
        """
        if is_over:
            for each in self.sides:
                each.flush()
        elif not (self.sides[0].total_bytes or self.sides[1].total_bytes):
            return None
        client = self._client_by_frames(is_over=is_over)
        if client is not None:
            return Verdict(Protocol.KAFKA, client)
        protocol = self._protocol(is_over=is_over)
        if protocol is None and is_over:
            has_bytes = any(side.total_bytes for side in self.sides)
            protocol = Protocol.UNKNOWN if has_bytes else Protocol.EMPTY
        return None if protocol is None else Verdict(protocol, self.client)

    def _client_by_frames(self, *, is_over: bool) -> int | None:
        """Return the side that frames which were found show to be the client."""
        for number, side in enumerate(self.sides):
            if side.has_request:
                return number
        if is_over and self.client is None:
            for number, side in enumerate(self.sides):
                if self._is_answered(side, is_over=True) is SeenAnswer.YES:
                    self.sides[0].stop_searching()
                    self.sides[1].stop_searching()
                    return number
        for number, side in enumerate(self.sides):
            is_one_sided = is_over or not self.sides[1 - number].total_bytes
            may_be_broker = is_one_sided and number != self.client and side.total_bytes > 0
            if may_be_broker and side.has_responses(is_over=is_over):
                return 1 - number
        return None

    def _protocol(self, *, is_over: bool) -> Protocol | None:
        """Return the protocol that the first bytes show; None if they show none."""
        if self.client is not None:
            return self._protocol_of_client(self.sides[self.client], is_over=is_over)
        for side in self.sides:
            first, _ = side.first_bytes()
            protocol = detect(first, self._limits.max_frame_bytes)
            if protocol not in {None, Protocol.KAFKA, Protocol.UNKNOWN}:
                return protocol
        return Protocol.UNKNOWN if self._is_hopeless() else None

    def _is_hopeless(self) -> bool:
        """Return whether so many bytes came without a sign of Kafka that none is expected.

        Of one direction that means more: a response may be so long.
        """
        enough = self._limits.max_search_bytes
        some = [side.total_bytes for side in self.sides if side.total_bytes]
        return bool(some) and min(some) > enough * (1 if len(some) > 1 else _ONE_SIDED_TIMES)

    def _protocol_of_client(self, client: OpeningSide, *, is_over: bool) -> Protocol | None:
        """Return the protocol that the client's first bytes show; search on if they are lost."""
        first, is_cut = client.first_bytes()
        if is_cut and not first and client.search is None:
            client.start_searching()
        if client.search is not None or not first:
            is_long = client.total_bytes > self._limits.max_search_bytes
            return Protocol.UNKNOWN if is_long or self._is_hopeless() else None
        may_be_preamble = self.preamble is None and bool(first[:1].strip(b"\0"))
        if may_be_preamble and self._awaits_preamble(client, is_over=is_over):
            return None
        first, is_cut = client.first_bytes()
        if not first:
            return None
        protocol = detect(first, self._limits.max_frame_bytes, is_all=is_cut or is_over)
        if protocol is not Protocol.KAFKA or is_bare_token(first):
            return protocol
        answer = client.sends_requests(is_over=is_over)
        if answer is SeenAnswer.NO:
            answer = self._is_answered(client, is_over=is_over)
        if answer is SeenAnswer.NO:
            return Protocol.KAFKA if self.has_kafka_port else Protocol.UNKNOWN
        return Protocol.KAFKA if answer is SeenAnswer.YES else None

    def _is_answered(self, client: OpeningSide, *, is_over: bool) -> SeenAnswer:
        """Return whether one end is the client because the other answers as a broker does."""
        server = self.sides[client is self.sides[0]]
        if not (client.has_first_byte and server.has_first_byte):
            return SeenAnswer.NO
        return are_answered(client.kept(), server.kept(), is_over=is_over)

    def _awaits_preamble(self, client: OpeningSide, *, is_over: bool) -> bool:
        """Pass over the preamble of a proxy, if there is one; return whether more must come."""
        server = self.sides[not self.client]
        first = [side.first_bytes(MAX_PREAMBLE_BYTES)[0] for side in (client, server)]
        preamble = read_preamble(*first)
        if preamble is None or len(first[0]) >= MAX_PREAMBLE_BYTES:
            return False
        is_here = client.total_bytes >= preamble.client_bytes > 0
        if is_here and server.total_bytes >= preamble.server_bytes:
            self.preamble, self.secrets = preamble.name, preamble.secrets
            client.pass_preamble(preamble.client_bytes)
            server.pass_preamble(preamble.server_bytes)
            is_here = client.total_bytes > 0
        return not is_here and not is_over
