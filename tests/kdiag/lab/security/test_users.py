import pytest

from kdiag.lab.security.users import ScramCredential, UserStore

SHA_256 = "SCRAM-SHA-256"


def test_a_password_is_one_users() -> None:
    """Nobody else has it, and nobody has none."""
    users = UserStore({"alice": "secret", "empty": ""})
    assert users.has_password("alice", b"secret")
    assert users.has_password("empty", b"")
    for name, password in (("alice", b"Secret"), ("alice", b""), ("bob", b"secret"), ("bob", b"")):
        assert not users.has_password(name, password)
    assert "secret" not in repr(users)


@pytest.mark.parametrize("mechanism", [SHA_256, "SCRAM-SHA-512"])
def test_a_credential_is_made_once(mechanism: str) -> None:
    """With a salt of its own."""
    users, others = UserStore({"alice": "secret"}), UserStore({"alice": "secret"})
    credential = users.scram_credential("alice", mechanism)
    assert credential is not None
    assert users.scram_credential("alice", mechanism) is credential
    assert others.scram_credential("alice", mechanism) != credential
    assert users.scram_credential("bob", mechanism) is None


def test_credentials_are_set_and_removed() -> None:
    """Also those that nobody has needed yet."""
    users = UserStore({"alice": "secret"})
    assert users.scram_users() == {"alice": {SHA_256: 4096, "SCRAM-SHA-512": 4096}}
    assert users.delete("alice", SHA_256)
    assert not users.delete("alice", SHA_256)
    users.upsert("bob", SHA_256, ScramCredential(b"salt", 8192, b"", b""))
    assert users.scram_users() == {"alice": {"SCRAM-SHA-512": 4096}, "bob": {SHA_256: 8192}}
    assert users.has_password("alice", b"secret")
