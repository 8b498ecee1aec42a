from kdiag.exchange.dissection import Dissection
from kdiag.exchange.model import Gap
from kdiag_cli.commands.decode.single_exchange import SingleExchange, absence_text
from recordings.exchange_maker import START_NS, make_connection, make_exchange


def test_only_the_exchange_with_the_number_is_kept() -> None:
    """Everything else passes."""
    dissections = [
        Dissection(make_exchange(b"asked", version=None, number=number)) for number in (1, 2, 3)
    ]
    connection = make_connection()
    single = SingleExchange(2)

    for each in dissections:
        single.exchange(each)
    single.connection(connection)
    single.gap(
        Gap(
            connection=connection,
            direction="request",
            time_ns=START_NS,
            offset=0,
            size=2,
            reason="lost",
        )
    )
    single.finish()

    assert single.found is dissections[1]


def test_an_exchange_that_does_not_come_is_none() -> None:
    """The number stays, so that it can be told."""
    single = SingleExchange(9)

    single.finish()

    assert (single.number, single.found) == (9, None)


def test_an_absent_exchange_was_left_out_or_never_there() -> None:
    """The numbers of all exchanges tell which."""
    assert absence_text(5, 5) == "exchange 5 is none of those that the options choose"
    assert absence_text(6, 5) == "there is no exchange 6: the capture has 5 exchanges"
