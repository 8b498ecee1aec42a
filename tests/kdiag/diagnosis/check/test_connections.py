from kdiag.diagnosis.check.connections import judge_servers, metadata_text, release_text
from kdiag.diagnosis.check.facts import CheckStep
from kdiag.diagnosis.check.report import CheckPart, CheckRow, CheckStage, CheckStatus
from kdiag.errors import AuthenticationError, ConnectError, Fault, Layer
from kdiag.findings.rule import Severity
from kdiag.net.timed_channel import HandshakeFacts
from kdiag.wire.api.api_versions import ApiVersionsResponse
from made_values.check_subject import (
    CLUSTER,
    S,
    certificate,
    endpoint,
    facts,
    metadata,
    refused,
    visit,
)

TLS = HandshakeFacts("TLSv1.3", "TLS_AES_256_GCM_SHA384", (certificate(),))
SILENT = ConnectError("b:9092", Layer.KAFKA, "no answer", "", Fault.SILENT)


def row_of(part: CheckPart, stage: CheckStage) -> CheckRow:
    """Return the only row of a stage."""
    (row,) = (each for each in part.rows if each.stage is stage)
    return row


def test_every_step_has_a_row_with_its_time() -> None:
    """Stage by stage, whatever the number of servers."""
    steps = {step: number * S for number, step in enumerate(CheckStep)}
    named = visit("10.0.0.1", host="kafka", took_ns=steps, tls=TLS)
    part = judge_servers(
        facts(
            [endpoint("kafka", named), endpoint("10.0.0.2", visit("10.0.0.2"))],
            login="PLAIN as alice",
        )
    )

    assert [row.stage for row in part.rows] == [
        CheckStage.DNS,
        CheckStage.TCP,
        CheckStage.TCP,
        CheckStage.TLS,
        CheckStage.SASL,
        CheckStage.API_VERSIONS,
        CheckStage.API_VERSIONS,
        CheckStage.METADATA,
        CheckStage.METADATA,
    ]
    assert part.rows[0].detail == "10.0.0.1"
    assert part.rows[1].target == "kafka:9092 (10.0.0.1)"
    tls, sasl = row_of(part, CheckStage.TLS), row_of(part, CheckStage.SASL)
    assert (tls.took_ns, sasl.took_ns) == (1 * S, 2 * S)
    assert tls.facts["tls"]["version"] == "TLSv1.3"
    assert sasl.detail == "PLAIN as alice"
    assert part.rows[5].detail == "Kafka 4.3, 2 APIs"
    assert part.rows[7].facts["brokers"][0]["host"] == "kafka-1"
    assert (part.findings, part.errors) == ([], [])


def test_an_address_needs_no_lookup() -> None:
    """Which is told, for the stage is not left out."""
    row = row_of(judge_servers(facts()), CheckStage.DNS)
    assert (row.status, row.detail) == (CheckStatus.OK, "no name to look up")


def test_a_server_that_is_no_help_is_an_error_if_no_other_is_one() -> None:
    """Then it keeps clients from the cluster."""
    error = refused("10.0.0.1:9092")
    part = judge_servers(facts([endpoint("10.0.0.1", visit(error=error))], is_lost=True))

    row = row_of(part, CheckStage.TCP)
    assert (row.status, row.detail, row.facts) == (
        CheckStatus.ERROR,
        "connection refused",
        {"fault": Fault.REFUSED},
    )
    assert [(each.id, each.severity) for each in part.findings] == [("KD1101", Severity.ERROR)]
    assert part.errors == [error]


def test_a_server_that_is_no_help_is_a_warning_where_another_answers() -> None:
    """Clients take the next."""
    servers = [
        endpoint("10.0.0.1", visit("10.0.0.1", error=refused())),
        endpoint("10.0.0.2", visit("10.0.0.2")),
    ]
    part = judge_servers(facts(servers))

    assert [(each.id, each.severity) for each in part.findings] == [("KD1101", Severity.WARNING)]
    assert part.rows[1].status is CheckStatus.WARNING
    assert part.errors == []


def test_a_name_that_does_not_resolve_ends_at_dns() -> None:
    """There is nothing to connect to."""
    error = ConnectError("kafka:9092", Layer.DNS, "no address is known", "", Fault.UNRESOLVED)
    part = judge_servers(facts([endpoint("kafka", error=error)], is_lost=True))

    (row,) = part.rows
    assert (row.stage, row.status, row.target) == (CheckStage.DNS, CheckStatus.ERROR, "kafka")
    assert row.took_ns == 4_000_000
    assert [each.id for each in part.findings] == ["KD1001"]


def test_one_of_several_addresses_of_a_name_may_be_no_help() -> None:
    """It is told which."""
    error = refused("kafka:9092 (10.0.0.1)")
    server = endpoint("kafka", visit("10.0.0.1", error=error), visit("10.0.0.2"))
    part = judge_servers(facts([server]))

    assert [each.id for each in part.findings] == ["KD1103"]
    assert part.findings[0].evidence["ips"] == "10.0.0.1"


def test_a_refusal_after_the_handshake_is_the_only_row_of_tls() -> None:
    """In TLS 1.3 it looks well at first."""
    error = AuthenticationError("k:1", Layer.TLS, "no certificate", "", Fault.CLIENT_CERTIFICATE)
    steps = {CheckStep.TCP: 1, CheckStep.TLS: 2}
    part = judge_servers(
        facts([endpoint("10.0.0.1", visit(error=error, took_ns=steps, tls=TLS))], is_lost=True)
    )

    row = row_of(part, CheckStage.TLS)
    assert (row.status, row.detail) == (CheckStatus.ERROR, "no certificate")
    assert row.facts["tls"]["certificates"][0]["subject"] == "CN=kafka-1"


def test_a_quick_check_does_not_tell_of_what_it_did_not_wait_for() -> None:
    """What has failed by then is told; what is only slow is not."""
    servers = [
        endpoint("10.0.0.1", visit()),
        endpoint("10.0.0.2", visit(error=SILENT)),
        endpoint("10.0.0.3", visit(error=refused())),
    ]
    part = judge_servers(facts(servers, is_quick=True))

    assert [each.id for each in part.findings] == ["KD1101"]
    assert [row.status for row in part.rows].count(CheckStatus.WARNING) == 1


def test_servers_of_two_clusters_are_told_apart() -> None:
    """Clients would now talk to one, now to the other."""
    other = visit("10.0.0.2", said=metadata(1, cluster_id="other"))
    part = judge_servers(facts([endpoint("10.0.0.1", visit()), endpoint("10.0.0.2", other)]))

    (finding,) = part.findings
    assert finding.id == "KD1505"
    assert finding.evidence == {"address": "10.0.0.2:9092", "other": "other", "cluster": CLUSTER}


def test_a_certificate_that_ends_soon_is_warned_of() -> None:
    """Of a server that is used."""
    soon = HandshakeFacts("TLSv1.3", "SUITE", (certificate(days_left=3),))
    part = judge_servers(facts([endpoint("10.0.0.1", visit("10.0.0.1", tls=soon))]))
    assert [each.id for each in part.findings] == ["KD1206"]


def test_what_is_not_known_is_left_out() -> None:
    """Old brokers name neither features nor clusters."""
    assert release_text(ApiVersionsResponse()) == "0 APIs"
    assert metadata_text(metadata(1, 2, cluster_id="")) == "a cluster without id, 2 brokers"
    assert metadata_text(metadata(1)) == f"cluster {CLUSTER}, 1 broker"
