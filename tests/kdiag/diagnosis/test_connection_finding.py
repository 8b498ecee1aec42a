from kdiag.diagnosis.connection_finding import connection_finding, sentence
from kdiag.errors import AuthenticationError, ConnectError, Fault, Layer
from tiers.cases import for_each


@for_each("fault", Fault)
@for_each("layer", Layer)
def test_every_fault_in_every_layer_has_its_finding(fault: Fault, layer: Layer) -> None:
    """Where a fault has no name of its own, the layer decides."""
    finding = connection_finding(ConnectError("kafka:9092", layer, "it failed", "", fault))
    assert finding.id.startswith("KD1")
    assert "kafka" in finding.title
    assert finding.evidence["why"] == "it failed"


def test_each_fault_has_a_finding_of_its_own() -> None:
    """An alert on one of them is never set off by another."""
    named = [fault for fault in Fault if fault is not Fault.OTHER]
    findings = [connection_finding(ConnectError("a:1", Layer.TCP, "w", "", each)) for each in named]
    assert len({each.id for each in findings}) == len(named)


def test_the_advice_of_the_error_counts_more_than_that_of_the_rule() -> None:
    """It names the very certificate or user."""
    error = AuthenticationError(
        "[::1]:9093 (::1)", Layer.TLS, "w", "Trust CN=ca", Fault.UNKNOWN_ISSUER
    )
    finding = connection_finding(error)
    assert (finding.id, finding.fix) == ("KD1204", "Trust CN=ca.")
    assert finding.evidence == {
        "address": "[::1]:9093 (::1)",
        "host": "[::1]",
        "layer": "TLS",
        "why": "w",
    }


def test_a_sentence_ends_with_one_full_stop() -> None:
    """Whether the text had it or not."""
    assert sentence("Do it") == sentence("Do it.") == "Do it."
