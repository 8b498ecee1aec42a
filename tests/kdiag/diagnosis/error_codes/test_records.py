from kdiag.diagnosis.error_codes.records import RECORDS

APIS = {"Produce", "Fetch", "ShareFetch", "ShareAcknowledge", "ListOffsets"}


def test_every_error_of_records_is_told_by_an_api_about_them() -> None:
    """Errors of records come from producing, fetching or looking up offsets."""
    strangers = {name for name, advice in RECORDS.items() if APIS.isdisjoint(advice.apis)}

    assert strangers == set()
