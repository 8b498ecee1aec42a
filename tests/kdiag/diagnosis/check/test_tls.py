from kdiag.diagnosis.check.tls import expiring, tls_facts, tls_text
from kdiag.net.timed_channel import HandshakeFacts
from made_values.check_subject import NOW, certificate
from tiers.cases import for_each


def shown(days_left: int = 100, **names: list[str]) -> HandshakeFacts:
    """Return what TLS showed with one certificate."""
    return HandshakeFacts("TLSv1.3", "TLS_AES_256_GCM_SHA384", (certificate(days_left, **names),))


def test_tls_is_one_line() -> None:
    """What is spoken, whom the certificate is for, who issued it, how long it lasts."""
    assert tls_text(shown(), NOW) == (
        "TLSv1.3 TLS_AES_256_GCM_SHA384, CN=kafka-1 for kafka-1, issued by CN=ca, "
        "until 2025-01-12 (100 days left)"
    )


def test_what_is_not_known_is_left_out() -> None:
    """A handshake that broke off early shows little."""
    assert tls_text(HandshakeFacts(None, "SUITE", ()), NOW) == "SUITE"
    assert tls_text(HandshakeFacts(None, None, (certificate(),)), NOW).startswith("CN=kafka-1 for")
    many = [f"kafka-{number}" for number in range(6)]
    assert "kafka-3 and 2 more, issued" in tls_text(shown(names=many), NOW)
    nameless = certificate()._replace(dns_names=(), common_names=())
    assert "for no host" in tls_text(HandshakeFacts(None, None, (nameless,)), NOW)
    assert "(over since 2 days)" in tls_text(shown(-2), NOW)


def test_programs_get_every_certificate() -> None:
    """With the days that it lasts."""
    facts = tls_facts(shown(12), NOW)

    assert (facts["version"], facts["cipher"]) == ("TLSv1.3", "TLS_AES_256_GCM_SHA384")
    (own,) = facts["certificates"]
    assert (own["subject"], own["names"], own["days_left"]) == ("CN=kafka-1", ["kafka-1"], 12)
    assert own["key"] == "EC P-256 256"


@for_each(("days_left", "count"), [(-1, 0), (0, 1), (29, 1), (30, 0)])
def test_a_certificate_that_ends_soon_is_warned_of(days_left: int, count: int) -> None:
    """One that has ended is an error of the handshake already."""
    findings = expiring("kafka-1:9093", shown(days_left), NOW)
    assert [each.id for each in findings] == ["KD1206"] * count


def test_the_first_of_a_chain_to_end_counts() -> None:
    """An authority's certificate ends as well."""
    chain = HandshakeFacts(None, None, (certificate(100), certificate(3)))
    (finding,) = expiring("kafka-1:9093", chain, NOW)
    assert finding.evidence["days_left"] == 3
    assert expiring("kafka-1:9093", HandshakeFacts(None, None, ()), NOW) == []
