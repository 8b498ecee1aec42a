"""From what the hellos agreed on and what a key log tells, to the keys of both directions."""

from collections.abc import Iterable
from typing import Final

from kdiag.pcap.tls.direction import Epoch
from kdiag.pcap.tls.facts import TlsFacts
from kdiag.pcap.tls.handshake import TLS12, TLS13, ClientHello, ServerHello, name_version
from kdiag.pcap.tls.keylog import KeyLog
from kdiag.pcap.tls.suite import CipherSuite, find_suite, name_suite

type_epochs = tuple[Iterable[Epoch], Iterable[Epoch]]
type_secrets = tuple[bytes | None, bytes | None]

_NO_EPOCHS: Final[type_epochs] = ((), ())
_TLS13_SECRETS: Final = 4


def find_epochs(
    keylog: KeyLog | None, client: ClientHello, server: ServerHello, facts: TlsFacts
) -> type_epochs:
    """Return the epochs of the server's and the client's direction; none if there are no keys.

    Args:
        keylog: where to look for the secrets.
        client: what was offered.
        server: what was chosen.
        facts: gets told whether keys were found, and why there are none.
    """
    if keylog is None:
        facts.note("no key log was given: what was encrypted stays so")
        return _NO_EPOCHS
    suite = _find_suite(server, facts)
    if suite is None:
        return _NO_EPOCHS
    if not keylog.knows(client.random, is_tls13=suite.is_tls13):
        keylog.look_further(client.random, is_tls13=suite.is_tls13)
    epochs = _epochs(keylog, client, server, suite, facts)
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
    else:
        return suite
    return None


def _epochs(
    keylog: KeyLog, client: ClientHello, server: ServerHello, suite: CipherSuite, facts: TlsFacts
) -> type_epochs | None:
    """Return the epochs of both directions; None if the key log has no secret of theirs."""
    from kdiag.pcap.tls.cipher import Tls13Epochs, tls12_epochs  # noqa: PLC0415 - 28 ms, for key logs

    if suite.is_tls13:
        secrets = _tls13_secrets(keylog, client, facts)
        return secrets and (Tls13Epochs(suite, *secrets[0]), Tls13Epochs(suite, *secrets[1]))
    master_secret = keylog.master_secret(client.random)
    if master_secret is None:
        return None
    server_epoch, client_epoch = tls12_epochs(
        suite, master_secret, client.random + server.random, macs_ciphertext=server.macs_ciphertext
    )
    return (server_epoch,), (client_epoch,)


def _tls13_secrets(
    keylog: KeyLog, client: ClientHello, facts: TlsFacts
) -> tuple[type_secrets, type_secrets] | None:
    """Return the secrets of the server and of the client; None if none of them is there."""
    server_secrets, client_secrets = (
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
    return server_secrets, client_secrets
