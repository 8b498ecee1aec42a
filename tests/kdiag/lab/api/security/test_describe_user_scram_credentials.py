from kdiag.lab.broker.lab_cluster import LabCluster, LabSettings
from kdiag.lab.security.users import UserStore
from kdiag.wire.api.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    UserName,
)
from kdiag.wire.error_code import error_name
from lab_ends.lab_client import LabClient

REQUEST = DescribeUserScramCredentialsRequest
RESPONSE = DescribeUserScramCredentialsResponse


def test_users_are_told_with_their_mechanisms_and_no_keys() -> None:
    """All of them, or those that are asked for, each once."""
    users = UserStore({"alice": "secret"})
    with LabCluster(LabSettings(users=users)) as lab, LabClient(lab.nodes[0].port) as client:
        (alice,) = client.ask(REQUEST(users=None), RESPONSE, 0).results
        assert [(each.mechanism, each.iterations) for each in alice.credential_infos] == [
            (1, 4096),
            (2, 4096),
        ]
        asked = [UserName(name) for name in ("alice", "bob", "carol", "carol")]
        found = client.ask(REQUEST(users=asked), RESPONSE, 0).results
        assert [(each.user, error_name(each.error_code)) for each in found] == [
            ("alice", "NONE"),
            ("bob", "RESOURCE_NOT_FOUND"),
            ("carol", "DUPLICATE_RESOURCE"),
        ]
