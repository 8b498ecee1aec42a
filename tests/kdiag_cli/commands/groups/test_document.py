from kdiag.diagnosis.coordinator import BrokerNode
from kdiag.diagnosis.groups.model import DescribedMember, Group, PartitionLag
from kdiag.diagnosis.groups.rates import GroupRates
from kdiag_cli.commands.groups.document import group_document

GROUP = Group(
    group="billing",
    type="consumer",
    state="Stable",
    coordinator=BrokerNode(1, "kafka-1", 9092),
    epoch=4,
    members=[DescribedMember(member_id="m-1", client_id="c", assignment={"b": [1], "a": [0]})],
    partitions=[
        PartitionLag(topic="a", partition=0, committed=3, committed_ms=1000, lag=7, lag_ms=12.5)
    ],
)


def test_the_keys_are_those_that_are_promised() -> None:
    """`kdiag help output` lists them."""
    short = group_document(GROUP, is_whole=False)
    assert list(short) == [
        "group",
        "type",
        "state",
        "coordinator",
        "protocol",
        "assignor",
        "epoch",
        "members",
        "partitions",
        "uncommitted",
        "lag",
        "lag_exact",
        "lag_certainty",
        "lag_ms",
        "lag_ms_certainty",
        "error",
    ]
    assert (short["members"], short["lag"], short["lag_exact"]) == (1, 7, False)


def test_a_whole_group_has_lists() -> None:
    """Topics by name, whatever the order of the broker."""
    whole = group_document(GROUP, GroupRates(consumed_per_s=2.0), is_whole=True)
    (member,) = whole["member_list"]
    assert [each["topic"] for each in member["assignment"]] == ["a", "b"]
    assert (member["target"], member["software"]) == (None, None)
    (partition,) = whole["partition_list"]
    assert (partition["committed"], partition["committed_at"]) == (
        3,
        "1970-01-01T00:00:01.000000000Z",
    )
    assert whole["rates"].consumed_per_s == 2
