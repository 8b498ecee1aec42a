from kdiag.lab.controller.topic_configs import check_configs
from kdiag.lab.coordinator.transaction.transaction_config import (
    TRANSACTION_TOPIC,
    TransactionConfig,
)


def test_the_topic_keeps_the_last_record_of_each_id() -> None:
    """It is Kafka's, with Kafka's number of partitions."""
    config = check_configs(TRANSACTION_TOPIC.name, TRANSACTION_TOPIC.configs)
    assert config.is_compacted
    assert not config.is_deleted
    assert (TRANSACTION_TOPIC.name, TRANSACTION_TOPIC.partition_count) == (
        "__transaction_state",
        50,
    )


def test_times_are_kafkas() -> None:
    """A quarter of an hour for a transaction, a week for an id that rests."""
    config = TransactionConfig()
    assert config.transaction_max_timeout_ms == 15 * 60 * 1000
    assert config.transactional_id_expiration_ms == 7 * 24 * 3600 * 1000
