from kdiag.diagnosis.check.acls import judge_rights, operation_names
from kdiag.diagnosis.check.report import CheckStatus
from kdiag.wire.api.describe_cluster import DescribeClusterResponse
from kdiag.wire.api.metadata import MetadataResponse, MetadataResponseTopic
from kdiag.wire.error_code import CODE_BY_NAME
from made_values.check_subject import facts
from tiers.cases import for_each

NOT_TOLD = -(1 << 31)


def topics(*names: str, error: str = "NONE", operations: int = NOT_TOLD) -> MetadataResponse:
    """Return an answer about topics."""
    code = 0 if error == "NONE" else CODE_BY_NAME[error]
    return MetadataResponse(
        topics=[
            MetadataResponseTopic(code, each, topic_authorized_operations=operations)
            for each in names
        ]
    )


@for_each(
    ("bits", "names"),
    [
        (NOT_TOLD, None),
        (0, []),
        (1 << 3 | 1 << 8, ["Read", "Describe"]),
        (1 << 15 | 1 << 20, ["TwoPhaseCommit", "20"]),
    ],
)
def test_bits_stand_for_operations(bits: int, names: list[str] | None) -> None:
    """One that is newer than kdiag keeps its number."""
    assert operation_names(bits) == names


def test_each_thing_that_was_asked_for_has_a_row() -> None:
    """The cluster always, topics and the group by name."""
    part = judge_rights(
        facts(
            cluster=DescribeClusterResponse(cluster_authorized_operations=1 << 8),
            wanted=topics("orders", operations=1 << 3 | 1 << 4),
            groups=["billing"],
            group_operations={"billing": 0},
            took_ns={"cluster": 7},
        )
    )

    assert [(row.target, row.detail) for row in part.rows] == [
        ("cluster", "Describe"),
        ("topic orders", "Read, Write"),
        ("group billing", "nothing"),
    ]
    assert part.rows[0].took_ns == 7
    assert part.rows[1].facts == {"operations": ["Read", "Write"]}
    assert (part.findings, part.warnings) == ([], [])


def test_brokers_that_do_not_tell_are_told_so() -> None:
    """Before KIP-430, or where the question failed."""
    part = judge_rights(
        facts(cluster=DescribeClusterResponse(), failures={"group": "NOT_COORDINATOR"})
    )
    unasked = judge_rights(facts(failures={"cluster": "no answer in time"}))

    assert part.rows[0].detail == "the broker does not tell what the user may do"
    assert part.warnings == ["what the user may do with the group is not known: NOT_COORDINATOR"]
    assert unasked.rows[0].status is CheckStatus.SKIPPED
    assert unasked.rows[0].detail == "no answer in time"


def test_a_topic_that_the_user_may_not_see_is_a_matter_of_rights() -> None:
    """The name of the error decides on the exit code."""
    part = judge_rights(facts(wanted=topics("orders", error="TOPIC_AUTHORIZATION_FAILED")))

    assert [each.id for each in part.findings] == ["KD4002"]
    assert part.error_names == ["TOPIC_AUTHORIZATION_FAILED"]
    assert part.rows[1].status is CheckStatus.ERROR


@for_each(
    ("name", "hint"),
    [
        ("order", "; did you mean orders?"),
        ("ORDERS", "; did you mean orders?"),
        ("paiments", "; did you mean payments?"),
        ("zzz", ""),
    ],
)
def test_an_unknown_topic_is_told_with_those_that_may_be_meant(name: str, hint: str) -> None:
    """By likeness, whatever the case."""
    part = judge_rights(
        facts(
            wanted=topics(name, error="UNKNOWN_TOPIC_OR_PARTITION"),
            topics=topics("orders", "payments"),
        )
    )

    (finding,) = part.findings
    assert (finding.id, finding.title) == ("KD2005", f"the topic {name} does not exist{hint}")
    assert part.error_names == []


def test_another_error_of_a_topic_is_shown_as_it_is() -> None:
    """There is no finding for what may pass by itself."""
    part = judge_rights(facts(wanted=topics("orders", error="LEADER_NOT_AVAILABLE")))

    assert part.findings == []
    assert part.rows[1].detail == "LEADER_NOT_AVAILABLE"
