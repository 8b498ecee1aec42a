"""The users of a lab: their passwords, and what SCRAM keeps of them.

    users = UserStore({"alice": "secret"})
    users.has_password("alice", b"secret")                  PLAIN
    users.scram_credential("alice", "SCRAM-SHA-256")        SCRAM: made of the password once
    users.upsert("bob", "SCRAM-SHA-512", credential)        AlterUserScramCredentials

As in Kafka, PLAIN and SCRAM know each other's users only because whoever starts the lab says so:
what is upserted or deleted later is SCRAM's alone. It is kept as long as the lab runs.

Source: RFC 5802; KIP-84, KIP-554; Kafka's `ScramFormatter`, `ScramCredential`.
"""

import hashlib
import hmac
import os
from collections.abc import Mapping
from threading import Lock
from typing import Final, NamedTuple

from kdiag.net.sasl.mechanism import password_bytes

PLAIN: Final = "PLAIN"
OAUTHBEARER: Final = "OAUTHBEARER"
SCRAM_MECHANISMS: Final = {"SCRAM-SHA-256": 1, "SCRAM-SHA-512": 2}
"""Their numbers in requests."""
CHECKED_MECHANISMS: Final = (PLAIN, *SCRAM_MECHANISMS)
"""Those that check who a client is: all that a listener enables by default."""
MECHANISMS: Final = (*CHECKED_MECHANISMS, OAUTHBEARER)

LEAST_ITERATIONS: Final = 4096
MOST_ITERATIONS: Final = 16_384

_SALT_BYTES: Final = 16


class ScramCredential(NamedTuple):
    """What a broker keeps of a password: enough to check it, too little to know it.

    Attributes:
        salt: mixed into the password.
        iterations: how often it was hashed.
        stored_key: the hash of the client's key.
        server_key: what the broker proves itself with.
    """

    salt: bytes
    iterations: int
    stored_key: bytes
    server_key: bytes

    def __repr__(self) -> str:
        return f"<ScramCredential of {self.iterations} iterations>"


def hash_of(mechanism: str) -> str:
    """Return the name of a SCRAM mechanism's hash."""
    return mechanism.removeprefix("SCRAM-").replace("-", "").lower()


def credential_of(mechanism: str, salted: bytes, salt: bytes, iterations: int) -> ScramCredential:
    """Return the credential of a password that is salted already."""
    name = hash_of(mechanism)
    client_key = hmac.digest(salted, b"Client Key", name)
    stored_key = hashlib.new(name, client_key).digest()
    return ScramCredential(salt, iterations, stored_key, hmac.digest(salted, b"Server Key", name))


class UserStore:
    """Users and what they prove themselves with; used by the threads of all nodes."""

    def __init__(self, passwords: Mapping[str, str] | None = None) -> None:
        """Begin with users that have a password, by name."""
        self._passwords = {name: password_bytes(text) for name, text in (passwords or {}).items()}
        self._unsalted = {
            (name, mechanism) for name in self._passwords for mechanism in SCRAM_MECHANISMS
        }
        self._credentials: dict[tuple[str, str], ScramCredential] = {}
        self._lock = Lock()

    def __repr__(self) -> str:
        return f"<UserStore of {len(self._passwords)} users>"

    def has_password(self, name: str, password: bytes) -> bool:
        """Return whether this is the password of a user."""
        known = self._passwords.get(name)
        # Compared in any case: how long it takes does not tell who there is.
        is_same = hmac.compare_digest(known or b"", password)
        return known is not None and is_same

    def scram_credential(self, name: str, mechanism: str) -> ScramCredential | None:
        """Return a user's credential; None without one."""
        with self._lock:
            if (name, mechanism) in self._unsalted:
                self._unsalted.remove((name, mechanism))
                self._credentials[name, mechanism] = _salted(mechanism, self._passwords[name])
            return self._credentials.get((name, mechanism))

    def scram_users(self) -> dict[str, dict[str, int]]:
        """Return the iterations of each user's mechanisms, by name, in alphabetical order."""
        with self._lock:
            found = {key: each.iterations for key, each in self._credentials.items()}
            found |= dict.fromkeys(self._unsalted, LEAST_ITERATIONS)
        users: dict[str, dict[str, int]] = {}
        for name, mechanism in sorted(found):
            users.setdefault(name, {})[mechanism] = found[name, mechanism]
        return users

    def upsert(self, name: str, mechanism: str, credential: ScramCredential) -> None:
        """Set a user's credential."""
        with self._lock:
            self._unsalted.discard((name, mechanism))
            self._credentials[name, mechanism] = credential

    def delete(self, name: str, mechanism: str) -> bool:
        """Remove a user's credential, and return whether there was one."""
        with self._lock:
            was_unsalted = (name, mechanism) in self._unsalted
            self._unsalted.discard((name, mechanism))
            return self._credentials.pop((name, mechanism), None) is not None or was_unsalted


def _salted(mechanism: str, password: bytes) -> ScramCredential:
    salt = os.urandom(_SALT_BYTES)
    salted = hashlib.pbkdf2_hmac(hash_of(mechanism), password, salt, LEAST_ITERATIONS)
    return credential_of(mechanism, salted, salt, LEAST_ITERATIONS)
