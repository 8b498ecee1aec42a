import msgspec

from kdiag.pcap.tls.facts import MAX_ALERTS, MAX_NOTES, Alert, TlsFacts


def test_an_alert_is_told_by_name() -> None:
    """Level and name are those of the RFC, unknown ones are numbers."""
    facts = TlsFacts()

    facts.add_alert(b"\2\x74", is_client=False)
    facts.add_alert(b"\7\xc8", is_client=True)

    assert facts.alerts == [
        Alert(is_client=False, level="fatal", name="certificate_required"),
        Alert(is_client=True, level="7", name="200"),
    ]


def test_an_alert_that_is_not_two_bytes_is_encrypted() -> None:
    """That there was an alert is worth telling, though not which."""
    facts = TlsFacts()

    facts.add_alert(bytes(26), is_client=True)

    assert facts.alerts == [Alert(is_client=True, level="encrypted", name="encrypted")]


def test_facts_do_not_grow_without_bound() -> None:
    """Of alerts and notes the first are kept, and a note is said once."""
    facts = TlsFacts()

    for number in range(100):
        facts.add_alert(b"\1\0", is_client=True)
        facts.note("again")
        facts.note(f"note {number}")

    assert len(facts.alerts) == MAX_ALERTS
    assert facts.notes == ["again", *(f"note {number}" for number in range(MAX_NOTES - 1))]


def test_facts_are_plain_data() -> None:
    """Each connection has its own, and they go into JSON as they are."""
    facts, other = TlsFacts(sni="host"), TlsFacts()

    facts.add_alert(b"\1\0", is_client=True)

    assert other.alerts == []
    assert msgspec.json.decode(msgspec.json.encode(facts), type=TlsFacts) == facts
