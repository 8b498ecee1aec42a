from kdiag.diagnosis.groups.model import DescribedMember, Group, PartitionLag
from kdiag_cli.commands.groups.text import print_group, print_groups
from programs.kdiag_program import Printed

GROUP = Group(
    group="bil\x1bling",
    type="classic",
    state="Stable",
    members=[
        DescribedMember(member_id="m-1", client_id="c-1", host="h", assignment={"t": [0, 1, 2, 7]}),
        DescribedMember(
            member_id="m-2", client_id="c-2", host="h", assignment={}, target={"t": [8]}
        ),
    ],
    partitions=[
        PartitionLag(topic="t", partition=0, committed=3, lag=7, lag_ms=1500.0, member_id="m-1"),
        PartitionLag(topic="t", partition=7, member_id="m-1"),
    ],
)


def test_a_lag_that_was_not_counted_has_a_tilde() -> None:
    """Names cannot do harm."""
    printed = Printed()
    print_groups(printed, [GROUP])
    cells = printed.lines[1].split("\t")
    assert cells[0] == "bil\\x1bling"
    assert cells[8:10] == ["~7", "1500.0"]


def test_a_group_is_told_with_members_and_partitions() -> None:
    """Partitions in few words; what a member is to own where that is something else."""
    printed = Printed()
    print_group(printed, GROUP)
    text = "\n".join(printed.lines)
    assert "2 members; lag ~7, 1.50 s behind; 1 partition without a commit" in text
    assert "t[0-2,7]" in text
    assert "nothing\tt[8]" in text
    assert "\nt[0]\t3\t" in text
