from kdiag.diagnosis.check.judgement import judge
from kdiag.diagnosis.check.report import NOT_REACHED, CheckStage, CheckStatus
from kdiag.wire.api.describe_cluster import DescribeClusterResponse
from kdiag.wire.api.metadata import MetadataResponse
from made_values.check_subject import endpoint, facts, refused, visit


def test_a_check_has_rows_for_every_stage() -> None:
    """Those of TLS and SASL where they take place."""
    report = judge(
        facts(
            listeners=[endpoint("203.0.113.7", visit(), node_id=1)],
            cluster=DescribeClusterResponse(cluster_authorized_operations=0),
            topics=MetadataResponse(),
        )
    )

    stages = [row.stage for row in report.rows]
    assert stages == [
        stage for stage in CheckStage if stage not in (CheckStage.TLS, CheckStage.SASL)
    ]
    assert (report.findings, report.errors) == ([], [])


def test_what_was_not_come_to_is_told() -> None:
    """After the first failure."""
    server = endpoint("203.0.113.7", visit(error=refused()))
    report = judge(facts([server], is_lost=True, has_tls=True, login="PLAIN as alice"))

    skipped = [row.stage for row in report.rows if row.status is CheckStatus.SKIPPED]
    assert skipped == list(CheckStage)[2:]
    assert {row.detail for row in report.rows[2:]} == {NOT_REACHED}


def test_a_quick_check_ends_with_metadata() -> None:
    """Nothing after it was wanted."""
    report = judge(facts(is_quick=True))
    assert [row.stage for row in report.rows][-1] is CheckStage.METADATA
    assert not any(row.status is CheckStatus.SKIPPED for row in report.rows)
