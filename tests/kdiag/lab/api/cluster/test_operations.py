from kdiag.lab.api.cluster.operations import (
    CLUSTER_OPERATIONS,
    GROUP_OPERATIONS,
    TOPIC_OPERATIONS,
    AclOperation,
)


def test_a_topic_is_read_and_written_and_a_group_is_not_written() -> None:
    """Each operation is a bit; those of a topic are Kafka's 3576."""
    assert TOPIC_OPERATIONS == 3576
    assert GROUP_OPERATIONS & 1 << AclOperation.READ
    assert not GROUP_OPERATIONS & 1 << AclOperation.WRITE
    assert CLUSTER_OPERATIONS & 1 << AclOperation.IDEMPOTENT_WRITE
    assert not CLUSTER_OPERATIONS & 1 << AclOperation.READ
