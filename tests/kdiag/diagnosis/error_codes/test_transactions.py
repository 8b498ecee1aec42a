from kdiag.diagnosis.error_codes.transactions import TRANSACTIONS

APIS = {"InitProducerId", "EndTxn", "AddPartitionsToTxn", "WriteTxnMarkers", "DescribeTransactions"}


def test_every_error_of_transactions_is_told_by_an_api_about_them() -> None:
    """Errors of transactions come from what producers and coordinators say of them."""
    strangers = {name for name, advice in TRANSACTIONS.items() if APIS.isdisjoint(advice.apis)}

    assert strangers == set()
