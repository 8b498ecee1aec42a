from programs.kdiag_program import kdiag
from tiers.cases import for_each


def test_the_help_says_what_the_columns_mean() -> None:
    """And which forms there are."""
    page = kdiag("groups", "--help").out
    assert "kdiag groups -b localhost:9092 --match 'order*' --state empty" in page
    assert "AGE is\n  how old the record is" in page
    assert "prometheus" in page


@for_each(
    ("arguments", "why"),
    [
        (("--type", "odd"), "'odd' is none of classic, consumer, share, streams"),
        (("--lag-above", "x"), "'x' is not a duration"),
        (("--count", "2"), "is for --watch"),
        (("--commit-times",), "is for named groups"),
        (("--watch", "--stuck"), "choose one of --watch, --stuck, --nagios and -o prometheus"),
        (("--watch", "-o", "prometheus"), "choose one of --watch"),
        (("--nagios", "-o", "prometheus"), "choose one of --nagios and -o prometheus"),
        (("",), "a name is not empty"),
    ],
    ids=lambda value: value if isinstance(value, str) else " ".join(value),
)
def test_what_contradicts_itself_is_refused(arguments: tuple[str, ...], why: str) -> None:
    """Before anybody is asked."""
    done = kdiag("groups", "-b", "127.0.0.1:1", *arguments)
    assert done.code == 2
    assert why in " ".join(done.err.split())
