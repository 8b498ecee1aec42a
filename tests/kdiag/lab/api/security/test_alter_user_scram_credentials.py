from kdiag.lab.broker.lab_cluster import LabCluster
from kdiag.wire.api.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
)
from kdiag.wire.api.alter_user_scram_credentials import ScramCredentialDeletion as Deletion
from kdiag.wire.api.alter_user_scram_credentials import ScramCredentialUpsertion as Upsertion
from kdiag.wire.error_code import error_name
from lab_ends.lab_client import LabClient
from tiers.cases import for_each


def change(client: LabClient, *changes: Deletion | Upsertion) -> list[str]:
    """Return the errors of changes, a user each."""
    request = AlterUserScramCredentialsRequest(
        [each for each in changes if isinstance(each, Deletion)],
        [each for each in changes if isinstance(each, Upsertion)],
    )
    response = client.ask(request, AlterUserScramCredentialsResponse, 0)
    return [error_name(each.error_code) for each in response.results]


def upsertion(name: str = "bob", mechanism: int = 1, iterations: int = 4096) -> Upsertion:
    """Return one."""
    return Upsertion(name, mechanism, iterations, b"salt", b"salted")


def test_credentials_are_set_and_removed(lab: LabCluster, client: LabClient) -> None:
    """A user each."""
    users = lab.nodes[0].dispatch.node.users
    assert change(client, upsertion(), upsertion("carol", 2)) == ["NONE", "NONE"]
    assert users.scram_users() == {"bob": {"SCRAM-SHA-256": 4096}, "carol": {"SCRAM-SHA-512": 4096}}
    assert change(client, Deletion("bob", 1), Deletion("carol", 2)) == ["NONE", "NONE"]
    assert users.scram_users() == {}


@for_each(
    ("wrong", "error"),
    [
        (upsertion(""), "UNACCEPTABLE_CREDENTIAL"),
        (upsertion(iterations=4095), "UNACCEPTABLE_CREDENTIAL"),
        (upsertion(iterations=16385), "UNACCEPTABLE_CREDENTIAL"),
        (upsertion(mechanism=3), "UNSUPPORTED_SASL_MECHANISM"),
        (Deletion("bob", 1), "RESOURCE_NOT_FOUND"),
    ],
)
def test_what_cannot_be_is_refused(
    client: LabClient, wrong: Deletion | Upsertion, error: str
) -> None:
    """With Kafka's errors."""
    assert change(client, wrong) == [error]


def test_a_user_is_changed_as_a_whole(lab: LabCluster, client: LabClient) -> None:
    """Or not at all."""
    assert change(client, upsertion(), upsertion(mechanism=2, iterations=1)) == [
        "UNACCEPTABLE_CREDENTIAL"
    ]
    assert change(client, upsertion(), upsertion()) == ["DUPLICATE_RESOURCE"]
    assert lab.nodes[0].dispatch.node.users.scram_users() == {}
