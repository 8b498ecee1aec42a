"""Members of kdiag, librdkafka and Java in one group: each partition is owned once."""

from collections.abc import Callable
from pathlib import Path

import pytest

from group_stories.sharing_group import BY_BROKER, SharingGroup
from real_kafka.releases import OLDEST, USUAL
from real_kafka.secure_cluster import SecureCluster
from real_kafka.topic_changes import add_partitions, await_topic
from real_kafka.topic_maker import create

pytestmark = pytest.mark.soak


@pytest.mark.parametrize(
    ("version", "assignor"),
    [
        pytest.param(USUAL, "cooperative-sticky", marks=pytest.mark.real),
        (USUAL, BY_BROKER),
        (OLDEST, "range"),
    ],
)
def test_a_group_of_all_clients_owns_each_partition_once(
    version: str,
    assignor: str,
    get_secure_cluster: Callable[[str], SecureCluster],
    tmp_path: Path,
) -> None:
    """Through joins, a static member's return, `kill -9`, more partitions, and leaving."""
    bootstrap = get_secure_cluster(version).bootstrap
    topic = f"shared-{assignor}"
    create(bootstrap, topic, partitions=6)
    with SharingGroup(bootstrap, f"sharing-{assignor}", topic, assignor) as group:
        group.join("a", "kdiag")
        group.settle({"a"}, 6)
        group.join("b", "librdkafka")
        group.join("c", "kdiag", "static-c")
        shares = group.settle({"a", "b", "c"}, 6)
        assert {len(each) for each in shares.values()} == {2}

        before = [len(group.changes[name]) for name in ("a", "b")]
        group.leave("c")
        group.join("c", "kdiag", "static-c")
        assert group.settle({"a", "b", "c"}, 6) == shares
        assert [len(group.changes[name]) for name in ("a", "b")] == before

        group.join("d", "kdiag")
        group.join_java("e", version, tmp_path / "java.log")
        shares = group.settle({"a", "b", "c", "d", "e"}, 6)
        assert sorted(len(each) for each in shares.values()) == [1, 1, 1, 1, 2]

        group.kill("d")
        add_partitions(bootstrap, topic, 9)
        await_topic(bootstrap, topic, 9)
        group.settle({"a", "b", "c", "e"}, 9)
        for name, left in (("e", {"a", "b", "c"}), ("a", {"b", "c"}), ("b", {"c"})):
            group.leave(name)
            group.settle(left, 9)
        assert group.overlaps() == []
