import msgspec

from kdiag.diagnosis.groups.model import Group, GroupsReport, PartitionLag
from kdiag.findings.finding import found
from kdiag_cli.commands.groups.metrics import plugin_result, prometheus_lines
from kdiag_cli.live.plugin import PluginStatus

REPORT = GroupsReport(
    at_ns=0,
    groups=[
        Group(
            group='a"\\\n',
            type="classic",
            state="Stable",
            members=[],
            partitions=[
                PartitionLag(topic="t", partition=0, committed=10**15, lag=3, lag_ms=2500.0),
                PartitionLag(topic="t", partition=1),
            ],
        ),
        Group(group="b", type="share"),
    ],
    failures={3: "no answer"},
)


def test_metrics_are_as_prometheus_reads_them() -> None:
    """Names are escaped, numbers whole; what is not known has no sample."""
    lines = list(prometheus_lines(REPORT))
    assert 'kdiag_group_info{group="a\\"\\\\\\n",type="classic",state="Stable"} 1' in lines
    place = '{group="a\\"\\\\\\n",topic="t",partition="0"}'
    assert f"kdiag_group_committed_offset{place} 1000000000000000" in lines
    assert f"kdiag_group_partition_lag_seconds{place} 2.5" in lines
    assert 'kdiag_broker_unlisted{broker="3"} 1' in lines
    assert not [line for line in lines if 'partition="1"' in line]
    assert [line for line in lines if line.startswith("kdiag_group_members")] == [
        'kdiag_group_members{group="a\\"\\\\\\n"} 0'
    ]
    types = [line for line in lines if line.startswith("# TYPE")]
    assert len(types) == len(set(types)) == 7


def test_a_plugin_says_the_worst_or_how_many_there_are() -> None:
    """What is not known is worse than a warning, and no better than an error."""
    well = plugin_result(msgspec.structs.replace(REPORT, failures={}), [])
    assert (well.status, well.text) == (PluginStatus.OK, "2 groups, 3 records to read")
    assert well.figures == ("groups=2", "lag=3", "lag_age=2.500s")
    gone = found("KD3407", group="b", partitions="t[1]", count=1)
    worse = plugin_result(REPORT, [gone, gone])
    assert worse.status is PluginStatus.WARNING
    text = "KD3407 group b has commits for partitions that do not exist: t[1] (and 1 more)."
    assert worse.text.startswith(text)
    unsure = plugin_result(REPORT, [gone], ["t[1]: NOT_LEADER_OR_FOLLOWER", "so"])
    assert unsure.status is PluginStatus.UNKNOWN
    assert unsure.text == "t[1]: NOT_LEADER_OR_FOLLOWER; so"
    assert unsure.figures == ("groups=U", "lag=U", "lag_age=U")
    absent = found("KD3401", group="b", similar="")
    assert plugin_result(REPORT, [absent], ["so"]).status is PluginStatus.CRITICAL


def test_a_metric_says_whose_lag_is_not_known() -> None:
    """A sum over samples that are missing would be a wrong one."""
    refused = PartitionLag(topic="t", partition=2, error="NOT_LEADER_OR_FOLLOWER")
    groups = [*REPORT.groups, Group(group="c", type="classic", partitions=[refused])]
    lines = [*prometheus_lines(GroupsReport(at_ns=0, groups=groups))]
    assert 'kdiag_group_lag_unknown{group="b"} 0' in lines
    assert 'kdiag_group_lag_unknown{group="c"} 1' in lines
    assert not [line for line in lines if line.startswith('kdiag_group_partition_lag{group="c')]
