from kdiag.diagnosis.error_codes.cluster import CLUSTER


def test_what_any_request_may_meet_names_no_api() -> None:
    """A broker that fails, is missing or hangs up does so whatever was asked."""
    anywhere = {name for name, advice in CLUSTER.items() if not advice.apis}

    assert anywhere == {
        "BROKER_NOT_AVAILABLE",
        "NETWORK_EXCEPTION",
        "NONE",
        "UNKNOWN_SERVER_ERROR",
    }
