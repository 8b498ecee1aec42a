import pytest

from kdiag.clock import SystemClock
from kdiag.lab.broker.lab_cluster import LabCluster
from kdiag.lab.broker.seed_records import seed_records
from kdiag.wire.api.describe_log_dirs import (
    DescribableLogDirTopic,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
)
from lab_ends.lab_client import LabClient
from tiers.cases import for_each


def ask(
    client: LabClient, topics: list[DescribableLogDirTopic] | None, version: int = 4
) -> DescribeLogDirsResult:
    """Return what is told of the only folder."""
    request = DescribeLogDirsRequest(topics=topics)
    (result,) = client.ask(request, DescribeLogDirsResponse, version).results
    return result


@for_each("version", range(1, 6))
def test_sizes_are_told(lab: LabCluster, client: LabClient, version: int) -> None:
    """Those of the files, and from version 4 on how large the disk is."""
    seed_records(lab, 100, SystemClock())
    result = ask(client, None, version)
    logs = lab.nodes[0].replicas.logs
    assert result.log_dir == str(logs.folder.resolve())
    (topic,) = [each for each in result.topics if each.name == "orders"]
    sizes = {each.partition_index: each.partition_size for each in topic.partitions}
    files = {
        number: (logs.folder / f"orders-{number}" / f"{0:020}.log").stat().st_size
        for number in sizes
    }
    assert sizes == files
    assert sum(sizes.values()) > 100
    assert (result.total_bytes > result.usable_bytes > 0) is (version >= 4)


@pytest.mark.thorough
def test_only_what_is_asked_for_and_there_is_told(client: LabClient) -> None:
    """Others are passed over."""
    asked = [
        DescribableLogDirTopic(topic="orders", partitions=[1, 7]),
        DescribableLogDirTopic(topic="nowhere", partitions=[0]),
    ]
    (topic,) = ask(client, asked).topics
    assert (topic.name, [each.partition_index for each in topic.partitions]) == ("orders", [1])
    assert ask(client, []).topics == []
