from pathlib import Path

import msgspec
import pytest

from kdiag.clock import NS_PER_S
from kdiag.lab.controller.refusal import RequestRefusedError
from kdiag.lab.coordinator.runtime.coordinator_record import CoordinatorRecord, RecordOrigin
from kdiag.lab.coordinator.runtime.coordinator_runtime import (
    CoordinatorRuntime,
    ProducerOfRecords,
)
from kdiag.lab.coordinator.runtime.coordinator_topic import CoordinatorTopic
from kdiag.lab.log.partition_log import PartitionLog
from kdiag.lab.log.refusal import LogFileError
from kdiag.wire.error_code import error_name
from kdiag.wire.internal.offset_commit import OffsetCommitKey, OffsetCommitValue
from lab_ends.noted_records import NotedRecords, committed
from lab_ends.one_node import OneNode

TOPIC = CoordinatorTopic("__consumer_offsets", {"cleanup.policy": "compact"})
KEY = "billing"


class RuntimeOfNode:
    """A node with a runtime.

    Attributes:
        node: with its partitions.
        runtime: over them.
        errors: what was answered to appends.
    """

    def __init__(self, folder: Path) -> None:
        self.node = OneNode(folder)
        self.runtime = CoordinatorRuntime(TOPIC, self.node.replicas, self.node.clock, NotedRecords)
        self.node.controller.subscribe(self.runtime.handle_image)
        self.errors: list[str] = []

    def append(self, *records: CoordinatorRecord, is_replayed: bool = True) -> None:
        """Write records into the only partition."""
        append = self.runtime.append_and_replay if is_replayed else self.runtime.append
        append(0, records, lambda code: self.errors.append(error_name(code)))

    def refusal(self) -> str:
        """Return why the shard of the key cannot be had."""
        with pytest.raises(RequestRefusedError) as caught:
            self.runtime.shard_of(KEY)
        return caught.value.error


@pytest.fixture
def of_node(tmp_path: Path) -> RuntimeOfNode:
    """Return a node without topics."""
    return RuntimeOfNode(tmp_path)


def test_a_node_coordinates_what_it_leads(of_node: RuntimeOfNode) -> None:
    """From the moment that the topic is there until it is deleted."""
    assert of_node.refusal() == "NOT_COORDINATOR"
    of_node.node.create(TOPIC.name, 1)
    shard = of_node.runtime.shard_of(KEY)
    assert (shard.partition, shard.state) == (0, "loaded")
    assert of_node.runtime.shards == [shard]
    of_node.node.controller.delete_topic(TOPIC.name)
    assert shard.state == "unloaded"
    assert of_node.refusal() == "NOT_COORDINATOR"


def test_a_node_does_not_coordinate_what_another_leads(of_node: RuntimeOfNode) -> None:
    """Though it may have a replica."""
    of_node.node.create(TOPIC.name, 2, 1)
    assert of_node.refusal() == "NOT_COORDINATOR"


def test_records_are_replayed_and_then_answered(of_node: RuntimeOfNode) -> None:
    """None are answered at once; `append` alone replays nothing."""
    of_node.node.create(TOPIC.name, 1)
    of_node.append(committed(5), committed(6))
    of_node.append(committed(7), is_replayed=False)
    of_node.append()
    of_node.append(committed(8))
    assert of_node.errors == ["NONE"] * 4
    offsets = of_node.runtime.shard_of(KEY).offsets
    assert offsets == [(5, RecordOrigin(0)), (6, RecordOrigin(1)), (8, RecordOrigin(3))]


def test_records_of_a_transaction_are_replayed_with_their_producer(
    of_node: RuntimeOfNode,
) -> None:
    """They count when it is committed."""
    of_node.node.create(TOPIC.name, 1)
    of_node.runtime.append_and_replay(0, [committed(5)], lambda _: None, ProducerOfRecords(17, 3))
    assert of_node.runtime.shard_of(KEY).offsets == [(5, RecordOrigin(0, 17, 3))]


def test_records_wait_for_the_replicas_in_sync(of_node: RuntimeOfNode) -> None:
    """They are replayed before; COORDINATOR_NOT_AVAILABLE if it takes too long."""
    of_node.node.create(TOPIC.name, 1, 2)
    of_node.append(committed(5), committed(6))
    assert of_node.runtime.shard_of(KEY).offsets == [(5, RecordOrigin(0)), (6, RecordOrigin(1))]
    assert of_node.errors == []
    of_node.node.clock.advance(6 * NS_PER_S)
    of_node.node.replicas.advance()
    assert of_node.errors == ["COORDINATOR_NOT_AVAILABLE"]
    assert len(of_node.runtime.shard_of(KEY).offsets) == 2


def test_records_that_cannot_be_written_are_not_replayed(of_node: RuntimeOfNode) -> None:
    """The client gets an error of coordinators."""
    of_node.node.create(TOPIC.name, 1)
    of_node.node.lack_replicas(TOPIC.name)
    of_node.append(committed(5))
    key = OffsetCommitKey(group="billing", topic="orders", partition=0)
    value = OffsetCommitValue(metadata="x" * 2000)
    of_node.node.controller.set_topic_configs(TOPIC.name, {"max.message.bytes": "1000"})
    of_node.append(CoordinatorRecord(key, value, 3))
    assert of_node.errors == ["COORDINATOR_NOT_AVAILABLE", "UNKNOWN_SERVER_ERROR"]
    assert of_node.runtime.shard_of(KEY).offsets == []


def test_a_partition_with_records_is_read_before_it_is_coordinated(
    of_node: RuntimeOfNode,
) -> None:
    """Meanwhile clients are told to ask again."""
    of_node.node.create(TOPIC.name, 1)
    of_node.append(committed(5))
    again = CoordinatorRuntime(TOPIC, of_node.node.replicas, of_node.node.clock, NotedRecords)
    of_node.runtime = again
    again.handle_image(of_node.node.controller.image)
    assert of_node.refusal() == "COORDINATOR_LOAD_IN_PROGRESS"
    assert again.is_loading
    assert again.shards == []
    again.advance()
    assert again.advance() is None
    assert again.shard_of(KEY).offsets == [(5, RecordOrigin(0))]
    assert again.shard_of(KEY).state == "loaded"


def test_a_partition_that_cannot_be_read_is_not_coordinated(
    of_node: RuntimeOfNode, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The log says why, once."""
    of_node.node.create(TOPIC.name, 1)
    of_node.append(committed(5))

    def broken(log: PartitionLog, *_: object) -> None:
        raise LogFileError(log.folder, "Input/output error")

    monkeypatch.setattr(PartitionLog, "read", broken)
    again = CoordinatorRuntime(TOPIC, of_node.node.replicas, of_node.node.clock, NotedRecords)
    of_node.runtime = again
    again.handle_image(of_node.node.controller.image)
    again.advance()
    again.advance()
    assert of_node.refusal() == "COORDINATOR_LOAD_IN_PROGRESS"
    assert len(caplog.messages) == 1


def test_a_partition_whose_log_is_offline_is_not_coordinated(
    of_node: RuntimeOfNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As nothing can be written there."""

    def broken(folder: Path, *_: object) -> None:
        raise LogFileError(folder, "Input/output error")

    monkeypatch.setattr(PartitionLog, "open", broken)
    of_node.node.create(TOPIC.name, 1)
    assert of_node.refusal() == "COORDINATOR_LOAD_IN_PROGRESS"


def test_a_topic_that_was_made_anew_is_another_one(of_node: RuntimeOfNode) -> None:
    """What was known of the old one is forgotten."""
    of_node.node.create(TOPIC.name, 1)
    before = of_node.runtime.shard_of(KEY)
    of_node.append(committed(5))
    of_node.node.controller.delete_topic(TOPIC.name)
    of_node.node.create(TOPIC.name, 1)
    assert before.state == "unloaded"
    assert of_node.runtime.shard_of(KEY).offsets == []


def test_a_partition_that_is_led_in_another_epoch_is_read_again(of_node: RuntimeOfNode) -> None:
    """Somebody else may have written to it in between."""
    of_node.node.create(TOPIC.name, 1)
    before = of_node.runtime.shard_of(KEY)
    of_node.append(committed(5), is_replayed=False)
    image = of_node.node.controller.image
    topic = image.topics[TOPIC.name]
    led = msgspec.structs.replace(topic.partitions[0], leader_epoch=1)
    again = msgspec.structs.replace(topic, partitions=(led,))
    of_node.runtime.handle_image(msgspec.structs.replace(image, topics={TOPIC.name: again}))
    assert before.state == "unloaded"
    assert of_node.refusal() == "COORDINATOR_LOAD_IN_PROGRESS"
    of_node.runtime.advance()
    assert of_node.runtime.shard_of(KEY).offsets == [(5, RecordOrigin(0))]


def test_what_was_due_and_comes_late_is_not_written(of_node: RuntimeOfNode) -> None:
    """The partition is coordinated elsewhere by then."""
    of_node.node.create(TOPIC.name, 2, 1)
    of_node.append(committed(5))
    assert of_node.errors == ["NOT_COORDINATOR"]
