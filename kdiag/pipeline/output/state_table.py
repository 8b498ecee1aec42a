"""The classes that a state may have objects of: this table, and nothing else.

A state is read from a folder that others may write to, so what it can make is written down here,
class by class. Each is data: made of plain values and of one another, without a function, method or
class among its attributes, and none of its methods starts a program, opens a file or loads code.

    a named tuple or a struct    its fields
    any other class              its `__slots__`, or what its `__init__` sets

A class that begins to be kept in a decoder, in fetch sessions or in the groups of a stream gets a
line here; `encode_state` refuses a state with one that has none.
"""

import dis
from enum import Enum
from types import MemberDescriptorType
from typing import Final, cast

import msgspec

from kdiag.diagnosis.rebalance import events
from kdiag.diagnosis.rebalance.capture import exchange_events
from kdiag.diagnosis.rebalance.model import EvidencePlace, GroupType
from kdiag.exchange import model, tcp_facts
from kdiag.exchange.context import clusters, fetch_session, topic_names
from kdiag.exchange.secrets import login
from kdiag.pcap import content, decoder, ending, flow, memory_budget
from kdiag.pcap.kafka import (
    conversation,
    evidence,
    frame_cutter,
    frame_heuristics,
    frame_stream,
    matching,
    opening,
    request_head,
    request_walk,
    response_walk,
    resync,
    unmatched_responses,
)
from kdiag.pcap.packets.address import AddressBook
from kdiag.pcap.tcp import (
    counts,
    direction,
    reassembly,
    sample,
    segments,
    silence,
    sorted_batch,
    strays,
    tracker,
    waits,
)
from kdiag.pcap.tls import cipher, connection, facts, handshake, keylog, record, stream, suite
from kdiag.pcap.tls import direction as tls_direction
from kdiag.pipeline import decode
from kdiag.pipeline.output.partitions import Written
from kdiag.pipeline.rows.packets import RowSegments
from kdiag.pipeline.streams.group_state import StreamGroups
from kdiag.wire.frame import Frame

_DECODER: Final = (
    decode.PartDecoder,
    decode.RunPart,
    RowSegments,
    AddressBook,
    topic_names.TopicNames,
    decoder.CaptureDecoder,
    counts.Counts,
    memory_budget.MemoryBudget,
    silence.LateEchoes,
    silence.SilenceWatch,
    silence.SilencedConnection,
)
_CONNECTION: Final = (
    content.Content,
    content.ReadingRules,
    content.Surroundings,
    ending.Ending,
    flow.Flow,
    model.Connection,
    model.Gap,
    model.Sighting,
    model.TlsAlert,
    reassembly.Moment,
    reassembly.Nobody,
    reassembly.Reassembly,
    reassembly.WaitingBytes,
    segments.Piece,
    segments.Segments,
    sorted_batch.SegmentRow,
    strays.Stray,
    strays.Strays,
)
_KAFKA: Final = (
    Frame,
    model.Exchange,
    login.LoginWatch,
    conversation.Announcements,
    conversation.Conversation,
    conversation.ConversationSide,
    conversation.RequestsSeen,
    frame_cutter.FrameCutter,
    frame_cutter.FrameSink,
    frame_cutter.Loss,
    frame_cutter.OpenFrame,
    frame_heuristics.Candidate,
    frame_heuristics.RequestHeuristics,
    frame_heuristics.ResponseHeuristics,
    frame_heuristics.SearchedBytes,
    frame_stream.FrameLimits,
    frame_stream.FrameStream,
    frame_stream.LostPlace,
    frame_stream.Run,
    matching.ComingFrames,
    matching.ExchangeCollector,
    matching.Matcher,
    opening.Opening,
    opening.OpeningSide,
    request_walk.RequestWalk,
    response_walk.ResponseWalk,
    resync.Found,
    resync.FrameSearch,
    resync.UnreadStart,
    unmatched_responses.Habits,
    unmatched_responses.Turns,
    unmatched_responses.UnmatchedResponses,
)
_TCP: Final = (
    tcp_facts.Spread,
    tcp_facts.TcpDirection,
    tcp_facts.TcpFacts,
    direction.Columns,
    direction.Hole,
    direction.OddSegments,
    direction.TcpDirectionTracker,
    sample.Sample,
    tracker.Syn,
    tracker.SynOptions,
    tracker.TcpTracker,
    waits.Answers,
    waits.Sent,
    waits.Waits,
)
_TLS: Final = (
    cipher.CbcCipher,
    cipher.Tls12Cipher,
    cipher.Tls13Cipher,
    cipher.Tls13Epochs,
    connection.Plaintext,
    connection.TlsConnection,
    facts.Alert,
    facts.TlsFacts,
    handshake.ClientHello,
    handshake.HandshakeReader,
    handshake.ServerHello,
    keylog.KeyLog,
    record.RecordReader,
    record.TlsRecord,
    stream.TlsSide,
    stream.TlsStream,
    suite.CipherSuite,
    tls_direction.Epoch,
    tls_direction.GivenEpochs,
    tls_direction.RecordLoss,
    tls_direction.TlsDirection,
)
_GROUPS: Final = (
    fetch_session.FetchSessions,
    fetch_session.SessionTopics,
    StreamGroups,
    Written,
    EvidencePlace,
    events.Beat,
    events.Client,
    events.CoordinatorFound,
    events.EpochBeat,
    events.FetchBegan,
    events.FetchesPaused,
    events.JoinAnswered,
    events.JoinAsked,
    events.Leaving,
    events.PartitionsSeen,
    events.Subscription,
    events.SyncAnswered,
    events.SyncAsked,
    clusters.NamedBrokers,
    exchange_events.BrokersSeen,
    exchange_events.GroupSighting,
    exchange_events.PartitionCount,
    exchange_events.SoftwareSeen,
)
ENUMS: Final[tuple[type[Enum], ...]] = (
    GroupType,
    evidence.Evidence,
    model.LoginPhase,
    model.Protocol,
    model.Status,
    model.TlsFault,
    model.UnansweredReason,
    request_head.RequestLikeness,
    request_walk.SeenAnswer,
    tcp_facts.Vantage,
    tcp_facts.WindowScaling,
)


CLASSES: Final[tuple[type, ...]] = (*_DECODER, *_CONNECTION, *_KAFKA, *_TCP, *_TLS, *_GROUPS)


def attribute_names(cls: type) -> tuple[str, ...]:
    """Return the names of the attributes that every object of a class has.

    A name that the class itself defines is none of them: no attribute takes the place of a method.
    """
    if issubclass(cls, tuple):
        return cast("tuple[str, ...]", getattr(cls, "_fields", ()))
    if issubclass(cls, msgspec.Struct):
        return cls.__struct_fields__
    found: dict[str, None] = {}
    for each in reversed(cls.__mro__[:-1]):
        found.update(dict.fromkeys(each.__dict__.get("__slots__", ())))
        found.update(dict.fromkeys(_set_in(each.__dict__.get("__init__"))))
    return tuple(
        name for name in found if isinstance(getattr(cls, name, None), MemberDescriptorType | None)
    )


def _set_in(function: object) -> list[str]:
    """Return the names of the attributes that a function sets."""
    code = getattr(function, "__code__", None)
    steps = dis.get_instructions(code) if code is not None else ()
    return [step.argval for step in steps if step.opname == "STORE_ATTR"]
