from kdiag.exchange.documents.document import SCALARS
from kdiag.report.tables.columns_of_exchanges import EXCHANGES


def test_every_plain_value_of_the_document_is_a_column() -> None:
    """But for the number of its schema and its kind, which the table is."""
    columns = {column.name for column in EXCHANGES.columns}

    assert set(SCALARS) - columns == {"schema", "kind"}


def test_both_sides_have_the_same_columns() -> None:
    """So that what is asked of requests can be asked of responses."""
    names = [column.name for column in EXCHANGES.columns]
    request = [name.removeprefix("request_") for name in names if name.startswith("request_")]
    response = [name.removeprefix("response_") for name in names if name.startswith("response_")]

    assert request == response
    assert request[-1] == "body"
