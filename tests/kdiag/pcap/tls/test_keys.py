import pytest

from kdiag.pcap.tls.direction import Epoch
from kdiag.pcap.tls.facts import TlsFacts
from kdiag.pcap.tls.handshake import TLS12, TLS13, ClientHello, ServerHello
from kdiag.pcap.tls.keylog import KeyLog
from kdiag.pcap.tls.keys import find_epochs
from tiers.cases import for_each

RANDOM = bytes(range(32))
CLIENT = ClientHello(RANDOM, b"", ("TLS 1.3",), None, offers_early_data=False)
SERVER12 = ServerHello(
    random=bytes(32),
    session_id=b"",
    version=TLS12,
    suite=0xC02F,
    compression=0,
    alpn=None,
    macs_ciphertext=False,
    chose_session=False,
    is_retry=False,
)
SERVER13 = SERVER12._replace(version=TLS13, suite=0x1301)
LABELS13 = (
    "SERVER_HANDSHAKE_TRAFFIC_SECRET",
    "CLIENT_HANDSHAKE_TRAFFIC_SECRET",
    "SERVER_TRAFFIC_SECRET_0",
    "CLIENT_TRAFFIC_SECRET_0",
)


def keylog(*labels: str) -> KeyLog:
    """Return a key log with secrets of the client."""
    return KeyLog.parse(
        b"".join(f"{label} {RANDOM.hex()} {bytes(48).hex()}\n".encode() for label in labels)
    )


def first_epochs(
    log: KeyLog | None, server: ServerHello, count: int, facts: TlsFacts
) -> list[list[Epoch]]:
    """Return the first epochs of the server's direction and of the client's."""
    return [
        [epoch for _, epoch in zip(range(count), epochs, strict=False)]
        for epochs in find_epochs(log, CLIENT, server, facts)
    ]


def test_tls_1_2_has_one_epoch_in_each_direction() -> None:
    """One secret gives both keys."""
    facts = TlsFacts()

    server, client = first_epochs(keylog("CLIENT_RANDOM"), SERVER12, 3, facts)

    assert [epoch.is_application for epoch in server] == [True]
    assert [epoch.is_application for epoch in client] == [True]
    assert facts.keys_found is True


def test_tls_1_3_has_an_epoch_for_the_handshake_and_then_one_for_each_key() -> None:
    """Each later key comes out of the one before, without end."""
    facts = TlsFacts()

    server, client = first_epochs(keylog(*LABELS13), SERVER13, 5, facts)

    for epochs in (server, client):
        assert [epoch.is_application for epoch in epochs] == [False, True, True, True, True]
        assert all(epoch.cipher for epoch in epochs)
    assert facts.notes == []


def test_secrets_of_the_application_data_alone_leave_the_handshake_without_key() -> None:
    """What the key log holds is used, and what it lacks is said."""
    facts = TlsFacts()

    server, client = first_epochs(keylog(*LABELS13[2:]), SERVER13, 2, facts)

    assert [epoch.cipher is None for epoch in server + client] == [True, False, True, False]
    assert facts.keys_found is True
    assert facts.notes == [f"the key log has 2 of 4 secrets for client random {RANDOM.hex()}"]


@pytest.mark.parametrize("server", [SERVER12, SERVER13])
def test_a_key_log_of_other_connections_is_said_to_be_such(server: ServerHello) -> None:
    """The note names the random that a line of the key log should have."""
    facts = TlsFacts()

    assert first_epochs(KeyLog(), server, 1, facts) == [[], []]
    assert facts.keys_found is False
    assert facts.notes == [f"the key log has no secret for client random {RANDOM.hex()}"]


@for_each(
    ("server", "note"),
    [
        (SERVER12._replace(version=0x0302), "TLS 1.1 is not decrypted, only TLS 1.2 and 1.3 are"),
        (SERVER12._replace(version=0x7F1C), "0x7F1C is not decrypted, only TLS 1.2 and 1.3 are"),
        (SERVER12._replace(suite=0x0005), "cipher suite 0x0005 is not supported"),
        (SERVER12._replace(suite=0x1301), "cipher suite TLS_AES_128_GCM_SHA256 is not supported"),
        (
            SERVER13._replace(suite=0x002F),
            "cipher suite TLS_RSA_WITH_AES_128_CBC_SHA is not supported",
        ),
        (SERVER12._replace(compression=1), "compressed records are not supported"),
    ],
)
def test_what_cannot_be_decrypted_is_named(server: ServerHello, note: str) -> None:
    """Old versions, odd suites and compression are no error, only a fact."""
    facts = TlsFacts()

    assert first_epochs(keylog("CLIENT_RANDOM", *LABELS13), server, 1, facts) == [[], []]
    assert facts.notes == [note]
    assert facts.keys_found is None


def test_without_a_key_log_there_are_no_keys() -> None:
    """That is said too, for a user may not know that there could be one."""
    facts = TlsFacts()

    assert first_epochs(None, SERVER12, 1, facts) == [[], []]
    assert facts.notes == ["no key log was given: what was encrypted stays so"]
