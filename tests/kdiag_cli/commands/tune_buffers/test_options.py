import pytest
import typer

from kdiag_cli.commands.tune_buffers.options import read_rtt_ns, read_sizes, run_time_ns
from tiers.cases import for_each

MS = 1_000_000
KERNEL = -1


@for_each(
    ("text", "sizes"),
    [
        ("64k,1m,auto", (65536, 1048576, KERNEL)),
        ("auto", (KERNEL,)),
        ("KERNEL, 100K", (KERNEL, 102400)),
        ("64k,65536,-1,auto", (65536, KERNEL)),
    ],
)
def test_sizes_are_read_once_each(text: str, sizes: tuple[int, ...]) -> None:
    """In their order; three words leave a buffer to the kernel."""
    assert read_sizes(text) == sizes


@for_each("text", ["", "64k,", "big", "1k", "2g", "-64k"])
def test_what_is_no_size_of_a_buffer_is_refused(text: str) -> None:
    """Neither words nor sizes that no connection works with."""
    with pytest.raises(typer.BadParameter):
        read_sizes(text)


def test_a_round_trip_is_given_or_measured() -> None:
    """`auto` measures it."""
    assert read_rtt_ns("auto") is None
    assert read_rtt_ns("20ms") == 20 * MS
    with pytest.raises(typer.BadParameter) as caught:
        read_rtt_ns("far")
    assert caught.value.param_hint == "'--rtt'"


def test_a_run_is_given_in_seconds() -> None:
    """The option is called `--seconds`; other units may be written."""
    assert run_time_ns("0.5") == run_time_ns("500ms") == 500 * MS
    for text in ("0.05", "61", "2m", "x"):
        with pytest.raises(typer.BadParameter):
            run_time_ns(text)
