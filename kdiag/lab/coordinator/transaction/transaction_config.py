"""Times and limits of transactions, and the topic that keeps them.

    transaction.max.timeout.ms                  a producer may ask for no more
    transactional.id.expiration.ms              an id that rests is forgotten after this time
    transaction.remove.expired...interval.ms    how often it is looked for such ids

All of them have Kafka's defaults. The topic is in sync with one replica where Kafka wants two: a
lab of one node is to work.

Source: Kafka's `TransactionConfig`, `TransactionStateManager.transactionTopicConfigs`.
"""

from collections.abc import Callable
from typing import Final, NamedTuple

from kdiag.lab.controller.cluster_image import TRANSACTION_STATE_TOPIC
from kdiag.lab.coordinator.runtime.coordinator_topic import CoordinatorTopic

TRANSACTION_TOPIC: Final = CoordinatorTopic(
    TRANSACTION_STATE_TOPIC,
    {
        "cleanup.policy": "compact",
        "compression.type": "uncompressed",
        "min.insync.replicas": "1",
        "segment.bytes": "104857600",
        "unclean.leader.election.enable": "false",
    },
)

GenerateProducerId = Callable[[], int]
"""Returns a producer id that nobody else was or will be given."""


class TransactionConfig(NamedTuple):
    """Times and limits.

    Attributes:
        transaction_max_timeout_ms: the longest timeout.
        transactional_id_expiration_ms: after which an id that rests is forgotten.
        expiration_check_interval_ms: how often it is looked for such ids.
        marker_retry_ms: after which a marker that was not written is tried again.
    """

    transaction_max_timeout_ms: int = 900_000
    transactional_id_expiration_ms: int = 604_800_000
    expiration_check_interval_ms: int = 3_600_000
    marker_retry_ms: int = 100
