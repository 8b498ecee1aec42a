from kdiag.diagnosis.error_codes.groups import GROUPS

APIS = {
    "JoinGroup",
    "OffsetCommit",
    "OffsetFetch",
    "OffsetDelete",
    "DeleteGroups",
    "ConsumerGroupHeartbeat",
    "StreamsGroupHeartbeat",
    "ReadShareGroupState",
    "StreamsGroupTopologyDescriptionUpdate",
}


def test_every_error_of_groups_is_told_by_an_api_about_them() -> None:
    """Errors of groups come from what their members or administrators ask of a coordinator."""
    strangers = {name for name, advice in GROUPS.items() if APIS.isdisjoint(advice.apis)}

    assert strangers == set()
