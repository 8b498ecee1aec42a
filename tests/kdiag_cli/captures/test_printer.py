from kdiag.exchange.dissection import Dissection
from kdiag.exchange.model import Gap
from kdiag_cli.captures.printer import SortedPrinter
from programs.printer_log import PrinterLog
from recordings.exchange_maker import START_NS, make_connection, make_exchange, whole_frame


def dissection(number: int, time_ns: int) -> Dissection:
    """Return an exchange of a certain time."""
    exchange = make_exchange(b"asked", version=None, number=number)
    exchange.request = whole_frame(b"asked", time_ns)
    return Dissection(exchange)


def test_everything_comes_in_the_order_of_time() -> None:
    """At one moment gaps come first, then exchanges by number, then ended connections."""
    log = PrinterLog()
    printer = SortedPrinter(log)
    connection = make_connection(1, last_ns=START_NS + 5)
    gap = Gap(
        connection=connection,
        direction="response",
        time_ns=START_NS + 5,
        offset=0,
        size=17,
        reason="lost",
    )

    printer.connection(connection)
    printer.exchange(dissection(3, START_NS + 5))
    printer.exchange(dissection(2, START_NS + 5))
    printer.exchange(dissection(4, START_NS + 9))
    printer.gap(gap)
    printer.exchange(dissection(1, START_NS))
    assert log.words == []
    printer.finish()

    assert log.words == [
        "exchange 1",
        "gap 17",
        "exchange 2",
        "exchange 3",
        "connection 1",
        "exchange 4",
        "finish",
    ]


def test_nothing_is_printed_twice() -> None:
    """What was printed is forgotten."""
    log = PrinterLog()
    printer = SortedPrinter(log)
    printer.exchange(dissection(1, START_NS))
    printer.finish()
    printer.finish()

    assert log.words == ["exchange 1", "finish", "finish"]
