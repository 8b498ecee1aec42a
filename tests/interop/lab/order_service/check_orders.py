"""The tests of the project: what becomes of orders when Kafka misbehaves."""

import pytest
from order_service import OrderService  # type: ignore[import-not-found]

from kdiag.lab.plugin.kafka_lab import KafkaLab

pytestmark = pytest.mark.kafka_lab(topics=["orders:1"])


def test_an_order_is_written(kafka_lab: KafkaLab) -> None:
    """By a client that tells its name."""
    assert OrderService(kafka_lab.bootstrap).place("1 cup")
    assert kafka_lab.exchanges(api="Produce", client_id="order-service")


def test_an_order_is_written_again_if_it_was_refused(kafka_lab: KafkaLab) -> None:
    """An error that passes is nobody's business."""
    fault = kafka_lab.fault("Produce topic=orders error=NOT_ENOUGH_REPLICAS times=2")
    assert OrderService(kafka_lab.bootstrap).place("1 cup")
    assert fault.fired == 2
    assert len(kafka_lab.exchanges(api="Produce")) == 3


def test_an_answer_may_be_late(kafka_lab: KafkaLab) -> None:
    """Less than the service waits for it."""
    fault = kafka_lab.fault(api="Produce", delay="300ms")
    assert OrderService(kafka_lab.bootstrap).place("1 cup")
    assert fault.fired == 1


def test_a_lab_is_there_for_all(kafka_lab_session: KafkaLab) -> None:
    """Topics are created when they are used."""
    assert OrderService(kafka_lab_session.bootstrap).place("1 cup")
