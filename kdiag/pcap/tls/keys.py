"""The keys of both directions, from the hellos and the secrets of a key log."""

from collections.abc import Iterable
from typing import Final

from kdiag.pcap.tls.direction import Epoch
from kdiag.pcap.tls.facts import TlsFacts
from kdiag.pcap.tls.handshake import TLS12, TLS13, ClientHello, ServerHello, name_version
from kdiag.pcap.tls.keylog import KeyLog
from kdiag.pcap.tls.suite import CipherSuite, find_suite, name_suite

type_epochs = tuple[Iterable[Epoch], Iterable[Epoch]]

_NO_EPOCHS: Final[type_epochs] = ((), ())
_TLS13_SECRETS: Final = 4


def find_epochs(
    keylog: KeyLog | None, client: ClientHello, server: ServerHello, facts: TlsFacts
) -> type_epochs:
    """Return the epochs of the server's and the client's direction; none if there are no keys.

    Args:
        keylog: where to look for the secrets.
        client: the offer.
        server: the choice.
        facts: learns whether keys were found, and why there are none.
    """
    if keylog is None:
        facts.note("no key log was given: what was encrypted stays so")
        return _NO_EPOCHS
    suite = _find_suite(server, facts)
    if suite is None:
        return _NO_EPOCHS
    if suite.is_tls13:
        epochs = _tls13_epochs(keylog, client, suite, facts)
    else:
        epochs = _tls12_epochs(keylog, client, server, suite)
    facts.keys_found = epochs is not None
    if epochs is None:
        facts.note(f"the key log has no secret for client random {client.random.hex()}")
    return epochs or _NO_EPOCHS


def _find_suite(server: ServerHello, facts: TlsFacts) -> CipherSuite | None:
    """Return how records are protected, or None with a note if such records cannot be opened."""
    suite = find_suite(server.suite)
    if server.version not in (TLS12, TLS13):
        facts.note(f"{name_version(server.version)} is not decrypted, only TLS 1.2 and 1.3 are")
    elif suite is None or suite.is_tls13 != (server.version == TLS13):
        facts.note(f"cipher suite {name_suite(server.suite)} is not supported")
    elif server.compression:
        facts.note("compressed records are not supported")
    elif not _has_library():
        facts.note("to decrypt TLS, install the library cryptography: pip install 'kdiag[tls]'")
    else:
        return suite
    return None


def _has_library() -> bool:
    try:
        import kdiag.pcap.tls.cipher  # noqa: F401, PLC0415 - an extra, and 45 ms to load
    except ImportError:
        return False
    return True


def _tls13_epochs(
    keylog: KeyLog, client: ClientHello, suite: CipherSuite, facts: TlsFacts
) -> type_epochs | None:
    from kdiag.pcap.tls.cipher import tls13_epochs  # noqa: PLC0415 - an extra, and 45 ms to load

    (server_secrets, client_secrets) = (
        (
            keylog.handshake_secret(client.random, is_client=is_client),
            keylog.traffic_secret(client.random, is_client=is_client),
        )
        for is_client in (False, True)
    )
    missing = (*server_secrets, *client_secrets).count(None)
    if missing == _TLS13_SECRETS:
        return None
    if missing:
        facts.note(
            f"the key log has {_TLS13_SECRETS - missing} of {_TLS13_SECRETS} secrets "
            f"for client random {client.random.hex()}"
        )
    return tls13_epochs(suite, *server_secrets), tls13_epochs(suite, *client_secrets)


def _tls12_epochs(
    keylog: KeyLog, client: ClientHello, server: ServerHello, suite: CipherSuite
) -> type_epochs | None:
    from kdiag.pcap.tls.cipher import tls12_epochs  # noqa: PLC0415 - an extra, and 45 ms to load

    master_secret = keylog.master_secret(client.random)
    if master_secret is None:
        return None
    server_epoch, client_epoch = tls12_epochs(
        suite, master_secret, client.random + server.random, macs_ciphertext=server.macs_ciphertext
    )
    return (server_epoch,), (client_epoch,)
