from kdiag.diagnosis.rebalance.records.record_words import DESCRIPTIONS, RECORDS


def test_each_source_has_words_of_its_own() -> None:
    """A note says which of the two does not tell."""
    assert (RECORDS.source, DESCRIPTIONS.source) == ("offsets", "describe")
    assert "records" in RECORDS.gone
    assert "coordinators" in DESCRIPTIONS.gone
    assert not {*RECORDS[1:5]} & {*DESCRIPTIONS[1:5]}
