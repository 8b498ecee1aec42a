import pytest
from scramp import ScramClient, ScramException

from kdiag.clock import ManualClock, SystemClock
from kdiag.lab.security.mechanisms import (
    OauthBearerServer,
    PlainServer,
    ProofError,
    ScramServer,
    lifetime_ms,
    make_server,
)
from kdiag.lab.security.users import MECHANISMS, UserStore
from kdiag.net.sasl.mechanism import SaslMechanism
from kdiag.net.sasl.oauthbearer import OauthBearer
from kdiag.net.sasl.scram import Scram
from kdiag.net.sasl.tokens import UnsecuredToken
from tiers.cases import for_each

USERS = UserStore({"alice": "secret", "a,b=c": "x"})
SCRAM = ["SCRAM-SHA-256", "SCRAM-SHA-512"]


def converse(client: SaslMechanism, server: ScramServer | OauthBearerServer) -> str | None:
    """Return who the server thinks the client is, who is satisfied, too."""
    tokens = client.tokens()
    token = next(tokens, None)
    while token is not None:
        try:
            token = tokens.send(server.evaluate(token))
        except StopIteration:
            token = None
    return server.user


@pytest.mark.parametrize("name", SCRAM)
def test_another_library_speaks_scram_with_it(name: str) -> None:
    """And accepts the proof of the broker."""
    client = ScramClient([name], "alice", "secret")
    server = ScramServer(USERS, name)
    client.set_server_first(server.evaluate(client.get_client_first().encode()).decode())
    final = server.evaluate(client.get_client_final().encode()).decode()
    client.set_server_final(final)
    assert server.user == "alice"
    with pytest.raises(ScramException):
        client.set_server_final(final)


@pytest.mark.parametrize("name", SCRAM)
def test_names_with_commas_are_users_too(name: str) -> None:
    """They are escaped on the way."""
    assert converse(Scram(name, "a,b=c", "x"), ScramServer(USERS, name)) == "a,b=c"


@for_each("name", SCRAM)
@for_each(("user", "password"), [("alice", "wrong"), ("bob", "secret")])
def test_a_wrong_proof_and_an_unknown_user_are_refused_alike(
    name: str, user: str, password: str
) -> None:
    """In the same words."""
    server = ScramServer(USERS, name)
    with pytest.raises(ProofError, match=f"wrong credentials for {name}$"):
        converse(Scram(name, user, password), server)
    assert server.user is None


@for_each(
    "token",
    [b"", b"n,,", b"y,,n=alice,r=x", b"n,a=bob,n=alice,r=x", b"p=tls,,n=alice,r=x", b"\xff" * 9],
)
def test_what_is_no_first_token_is_refused(token: bytes) -> None:
    """Channel binding, other identities, garbage."""
    with pytest.raises(ProofError):
        ScramServer(USERS, SCRAM[0]).evaluate(token)


@for_each("token", [b"", b"c=biws,r=xy,p=!", b"c=biws,r=other,p=AAAA", b"c=eSws,r=xy,p=AAAA"])
def test_what_is_no_final_token_is_refused(token: bytes) -> None:
    """Whatever is wrong with it."""
    server = ScramServer(USERS, SCRAM[0], nonce="y")
    assert server.evaluate(b"n,,n=alice,r=x").startswith(b"r=xy,s=")
    with pytest.raises(ProofError):
        server.evaluate(token)


def test_plain_takes_the_identity_of_the_user_alone() -> None:
    """Nobody acts for somebody else."""
    server = PlainServer(USERS)
    assert server.evaluate(b"alice\0alice\0secret") == b""
    assert server.user == "alice"


def test_an_unsecured_token_is_believed_until_it_expires() -> None:
    """It says whom it is for."""
    clock = SystemClock()
    options = {"unsecuredLoginStringClaim_sub": "carol", "unsecuredLoginLifetimeSeconds": "60"}
    client = OauthBearer(UnsecuredToken(options, clock), clock, {"traceId": "1"})
    server = OauthBearerServer(clock)
    assert converse(client, server) == "carol"
    assert 0 < lifetime_ms(server, clock) <= 60_000
    server.expires_ns = None
    assert lifetime_ms(server, clock) == 0


@for_each("token", ["e30.e30.", "e30.e30", "x", "e30.e30.c2ln", "W10.W10."])
def test_other_tokens_are_not_believed(token: str) -> None:
    """Nor is anything after that."""
    server = OauthBearerServer(ManualClock())
    answer = server.evaluate(f"n,,\x01auth=Bearer {token}\x01\x01".encode())
    assert answer == b'{"status":"invalid_token"}'
    with pytest.raises(ProofError):
        server.evaluate(b"n,,")


@for_each("mechanism", MECHANISMS)
def test_there_is_one_for_each_mechanism(mechanism: str) -> None:
    """None has a user in the beginning."""
    assert make_server(mechanism, USERS, SystemClock()).user is None
