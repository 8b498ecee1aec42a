from kdiag.diagnosis.error_codes.quorum import QUORUM

APIS = {
    "Vote",
    "FetchSnapshot",
    "BrokerRegistration",
    "BrokerHeartbeat",
    "UnregisterController",
    "DescribeQuorum",
    "AddRaftVoter",
    "RemoveRaftVoter",
}


def test_every_error_of_quorum_is_told_by_an_api_about_them() -> None:
    """Errors of the quorum come from what nodes say among themselves."""
    strangers = {name for name, advice in QUORUM.items() if APIS.isdisjoint(advice.apis)}

    assert strangers == set()
