from kdiag.pcap.tls.facts import Alert, TlsFacts
from kdiag.pcap.tls.problem import tls_problem
from recordings.exchange_maker import make_connection
from tiers.cases import for_each


def problem(facts: TlsFacts, *, has_keys: bool = False, closed_by: str | None = None) -> str | None:
    """Return the problem of a connection."""
    connection = make_connection()
    connection.closed_by = closed_by
    found = tls_problem(facts, connection, has_keys=has_keys)
    return None if found is None else found.text


def agreed(**facts: object) -> TlsFacts:
    """Return the facts of a connection that both ends agreed on."""
    both = TlsFacts(client_speaks_tls=True, server_speaks_tls=True, version="TLS 1.3")
    both.offered_versions = ("TLS 1.3", "TLS 1.2")
    for name, value in facts.items():
        setattr(both, name, value)
    return both


def test_what_is_only_encrypted_or_was_read_has_no_problem() -> None:
    """Nobody gave keys, or they fit; a connection ends with an alert that harms nobody."""
    alerts = [
        Alert(is_client=True, level="warning", name="close_notify"),
        Alert(is_client=False, level="encrypted", name="encrypted"),
    ]
    assert problem(agreed(unopened_records=9, keys_found=False, alerts=alerts)) is None
    assert problem(agreed(keys_found=True, decrypted_records=9), has_keys=True) is None


@for_each(
    ("facts", "why"),
    [
        (
            agreed(alerts=[Alert(is_client=True, level="fatal", name="unknown_ca")]),
            "the handshake failed: the client said unknown_ca",
        ),
        (
            agreed(
                offered_versions=("TLS 1.2",),
                alerts=[Alert(is_client=False, level="fatal", name="protocol_version")],
            ),
            "no common version: the client offers TLS 1.2, the broker said protocol_version",
        ),
        (
            agreed(
                decrypted_records=3,
                alerts=[Alert(is_client=False, level="fatal", name="certificate_required")],
            ),
            "the broker said certificate_required",
        ),
        (
            TlsFacts(client_speaks_tls=True, server_speaks_tls=False),
            "the broker answers without TLS: the port is one for plaintext",
        ),
        (TlsFacts(), "it started before the capture, so its keys cannot be found"),
    ],
)
def test_the_facts_tell_what_is_wrong(facts: TlsFacts, why: str) -> None:
    """Whether keys were given or not."""
    assert problem(facts) == problem(facts, has_keys=True) == why


def test_what_continues_a_silent_connection_did_not_start_before_the_capture() -> None:
    """Its keys were known, and given up."""
    connection = make_connection(continues="tcp-1")
    found = tls_problem(TlsFacts(), connection, has_keys=True)
    assert found is not None
    assert found.text == "it was silent for so long that its keys were given up"


def test_keys_that_do_not_fit_are_told() -> None:
    """A key log of other connections, and records that its keys do not open."""
    lacking = "the key log has no secret for client random 00ff"
    assert problem(agreed(keys_found=False, notes=[lacking]), has_keys=True) == lacking
    broken = agreed(keys_found=True, unopened_records=1, notes=["a record fails"])
    assert problem(broken, has_keys=True) == "a record fails"


def test_a_broker_that_hangs_up_on_tls_is_told() -> None:
    """A client that hangs up itself may just have stopped."""
    unheard = TlsFacts(client_speaks_tls=True, offered_versions=("TLS 1.3",))
    assert "as a plaintext listener does" in str(problem(unheard, closed_by="broker"))
    assert problem(unheard, closed_by="client") is None
