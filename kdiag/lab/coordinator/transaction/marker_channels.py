"""The markers of a transaction, to the leaders of its partitions: this node, and others.

    orders-0, leader 1 (this node)      written here
    orders-1, orders-2, leader 3        one WriteTxnMarkers to broker 3
    orders-3, no leader                 NOT_LEADER_OR_FOLLOWER: the coordinator tries again later
    gone-0                              UNKNOWN_TOPIC_OR_PARTITION

The coordinator is answered when all leaders have answered; what a broker that is gone was asked, it
is told as NOT_LEADER_OR_FOLLOWER. A marker that was written, and whose answer was lost, is written
twice: that ends nothing that is not ended.

Source: Kafka's `TransactionMarkerChannelManager`.
"""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final

from kdiag.lab.coordinator.transaction.marker_writer import EndMarker, MarkerCodes, MarkerWriter
from kdiag.lab.coordinator.transaction.transaction_metadata import TxnPartition
from kdiag.lab.replication.peer_requests import Purpose, SendToNode
from kdiag.lab.replication.replica_manager import ReplicaManager
from kdiag.wire.api.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from kdiag.wire.error_code import CODE_BY_NAME

if TYPE_CHECKING:
    from kdiag.wire.api.write_txn_markers import WriteTxnMarkersResponse

_NOT_LED: Final = CODE_BY_NAME["NOT_LEADER_OR_FOLLOWER"]


class MarkerChannels:
    """Has markers written by the leaders of partitions."""

    def __init__(self, replicas: ReplicaManager, writer: MarkerWriter, send: SendToNode) -> None:
        """Write nothing yet.

        Args:
            replicas: the node's partitions, which know who leads the others.
            writer: writes into those that the node leads.
            send: sends requests to other nodes.
        """
        self._replicas = replicas
        self._writer = writer
        self._send = send

    def __repr__(self) -> str:
        return f"<MarkerChannels of broker {self._replicas.node_id}>"

    def write(
        self,
        marker: EndMarker,
        partitions: Iterable[TxnPartition],
        respond: Callable[[MarkerCodes], None],
    ) -> None:
        """Have markers written, and answer when all leaders have answered.

        Args:
            marker: what they say.
            partitions: where they are written.
            respond: gets the error codes, once, now or later.
        """
        by_leader: dict[int, list[TxnPartition]] = {}
        codes: dict[TxnPartition, int] = {}
        for partition in partitions:
            leader = self._leader_of(partition)
            if leader is None:
                codes[partition] = _NOT_LED
            else:
                by_leader.setdefault(leader, []).append(partition)
        waiting = len(by_leader)

        def collect(told: MarkerCodes) -> None:
            nonlocal waiting
            waiting -= 1
            codes.update(told)
            if not waiting:
                respond(codes)

        if not by_leader:
            respond(codes)
        for leader, asked in by_leader.items():
            if leader == self._replicas.node_id:
                self._writer.write(marker, asked, collect)
            else:
                self._ask(leader, marker, asked, collect)

    def _leader_of(self, partition: TxnPartition) -> int | None:
        """Return the node to ask; this one about a partition that is not there; None if none is."""
        image = self._replicas.image
        registration = image.partition_of(*partition)
        if registration is None:
            return self._replicas.node_id
        return registration.leader if registration.leader in image.brokers else None

    def _ask(
        self,
        leader: int,
        marker: EndMarker,
        partitions: list[TxnPartition],
        collect: Callable[[MarkerCodes], None],
    ) -> None:
        """Have another node write markers."""

        def handle(response: "WriteTxnMarkersResponse | None") -> None:
            told = _codes_of(response)
            collect({each: told.get(each, _NOT_LED) for each in partitions})

        self._send(leader, Purpose.TRANSACTIONS, _request(marker, partitions), handle)


def _request(marker: EndMarker, partitions: Iterable[TxnPartition]) -> WriteTxnMarkersRequest:
    topics: dict[str, WritableTxnMarkerTopic] = {}
    for topic, number in partitions:
        named = topics.setdefault(topic, WritableTxnMarkerTopic(name=topic, partition_indexes=[]))
        named.partition_indexes.append(number)
    return WriteTxnMarkersRequest(
        markers=[
            WritableTxnMarker(
                producer_id=marker.producer_id,
                producer_epoch=marker.producer_epoch,
                transaction_result=marker.is_commit,
                topics=[*topics.values()],
                coordinator_epoch=marker.coordinator_epoch,
            )
        ]
    )


def _codes_of(response: "WriteTxnMarkersResponse | None") -> MarkerCodes:
    """Return the error codes of a response, by partition."""
    return {
        TxnPartition(topic.name, each.partition_index): each.error_code
        for marker in (() if response is None else response.markers)
        for topic in marker.topics
        for each in topic.partitions
    }
