from hypothesis import given
from hypothesis import strategies as st

from kdiag.exchange.line.phrase import (
    MAX_LISTED,
    address_text,
    clause,
    count,
    listed,
    quoted,
    short_id,
    size,
)
from tiers.cases import for_each


def test_an_ipv6_address_has_brackets() -> None:
    """Its port could not be told from it."""
    assert (address_text("::1", 9092), address_text("b1", 9092)) == ("[::1]:9092", "b1:9092")


@for_each(
    ("number", "noun", "text"),
    [
        (0, "record", "0 records"),
        (1, "record", "1 record"),
        (1, "batch", "1 batch"),
        (2, "batch", "2 batches"),
        (3, "entry", "3 entries"),
        (2, "replica status", "2 replica statuses"),
        (12345, "record", "12,345 records"),
    ],
)
def test_a_count_agrees_with_its_noun(number: int, noun: str, text: str) -> None:
    """One is singular, everything else plural, thousands are set apart."""
    assert text == count(number, noun)


@for_each(
    ("number", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.0 kB"),
        (1234, "1.2 kB"),
        (9949, "9.9 kB"),
        (9951, "10 kB"),
        (34_200, "34 kB"),
        (999_499, "999 kB"),
        (999_500, "1.0 MB"),
        (5_000_000_000, "5.0 GB"),
        (7_000_000_000_000_000, "7000 TB"),
    ],
)
def test_a_size_has_two_or_three_digits_and_a_decimal_unit(number: int, text: str) -> None:
    """Bytes are counted in thousands, as network people do, and rounding carries over."""
    assert text == size(number)


@given(st.integers(0, 10**15))
def test_a_size_is_never_off_by_more_than_it_shows(number: int) -> None:
    """The text is within half of its last digit."""
    value, unit = size(number).split()
    scale = {"B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}[unit]
    last_digit = scale / 10 if "." in value else scale

    assert abs(float(value) * scale - number) <= last_digit * 0.501


def test_a_long_list_names_its_first_words_and_counts_the_rest() -> None:
    """Eight words are shown, whatever there are."""
    words = [f"t{number}" for number in range(MAX_LISTED + 3)]

    assert listed(words[:MAX_LISTED]) == "t0 t1 t2 t3 t4 t5 t6 t7"
    assert listed(words, ",") == "t0,t1,t2,t3,t4,t5,t6,t7,+3"
    assert listed([]) == ""


def test_a_clause_leaves_out_what_says_nothing() -> None:
    """None and empty parts leave no comma behind."""
    assert clause("a", None, "", "b") == "a, b"
    assert clause() == ""


def test_what_a_human_wrote_stands_in_quotation_marks() -> None:
    """A message of a broker is told apart from kdiag's own words."""
    assert quoted("not today") == '"not today"'


@for_each(
    ("member_id", "text"),
    [
        ("reader-9d8b5a8d-1111-2222-3333-444455556666", "reader-9d8b5a8d…"),
        ("9d8b5a8d-1111-2222-3333-444455556666", "9d8b5a8d…"),
        ("AbCdEfGhIjKlMnOpQrStUv", "AbCdEfGh…"),
        ("consumer-1", "consumer-1"),
    ],
)
def test_a_member_id_is_cut_at_its_uuid(member_id: str, text: str) -> None:
    """Eight characters are enough to tell members apart."""
    assert text == short_id(member_id)
