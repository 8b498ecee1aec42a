from kdiag.report.tables.columns_of_batches import BATCHES, RECORDS


def test_a_batch_and_its_records_name_their_exchange_and_place_alike() -> None:
    """Their common columns are of one type, and say who, when, and which partition."""
    batches = {column.name: column.type for column in BATCHES.columns}
    records = {column.name: column.type for column in RECORDS.columns}
    common = set(batches) & set(records)

    assert {name: batches[name] for name in common} == {name: records[name] for name in common}
    assert {"connection_id", "time_ns", "client_id", "broker", "topic", "batch_index"} <= common
