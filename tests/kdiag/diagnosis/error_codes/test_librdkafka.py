from confluent_kafka import KafkaError

from kdiag.diagnosis.error_codes.librdkafka import LIBRDKAFKA


def test_codes_and_names_are_those_of_the_library() -> None:
    """The library itself is the judge; its own names begin with one underscore."""
    theirs = {
        getattr(KafkaError, name): name
        for name in vars(KafkaError)
        if name.startswith("_") and not name.startswith("__")
    }
    theirs = {code: name for code, name in theirs.items() if isinstance(code, int)}

    assert {code: name for code, name, _, _ in LIBRDKAFKA} == theirs


def test_every_error_has_sentences() -> None:
    """What it means and what to do; no two mean the same."""
    assert all(
        meaning.endswith(".") and fix.endswith((".", "?")) for *_, meaning, fix in LIBRDKAFKA
    )
    assert len({meaning for _, _, meaning, _ in LIBRDKAFKA}) == len(LIBRDKAFKA)
