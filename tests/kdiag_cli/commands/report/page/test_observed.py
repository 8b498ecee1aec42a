from pathlib import Path

from folders import CAPTURES
from kdiag.exchange.context.topic_names import TopicNames
from kdiag_cli.captures.printer import Printer
from kdiag_cli.captures.tables import tables_of
from kdiag_cli.commands.report.page.kept_exchanges import KeptExchanges
from kdiag_cli.commands.report.page.observed import ObservedCaptures
from kdiag_cli.options.captures import CaptureInputs, TableContents
from kdiag_cli.output.pages.parts import Remark, SortableTable
from recordings.capture_writer import savefile
from recordings.tcp_story import Story

NONE = KeptExchanges([])


def observed(folder: Path, capture: Path) -> ObservedCaptures:
    """Return what is seen while a capture becomes tables."""
    seen: list[ObservedCaptures] = []

    def observe(tables: Printer, names: TopicNames) -> Printer:
        seen.append(ObservedCaptures(tables, names))
        return seen[0]

    tables_of(CaptureInputs(files=[str(capture)]), folder, TableContents(tcp=True), observe=observe)
    return seen[0]


def test_groups_are_judged_once_all_exchanges_are_there(tmp_path: Path) -> None:
    """The capture has a group that asked a broker that does not coordinate it yet."""
    (remark,) = observed(tmp_path, CAPTURES / "rebalance.pcap").findings.parts(NONE)

    assert isinstance(remark, Remark)
    assert remark.title.startswith("info KD3310: ")
    assert (tmp_path / "exchanges.parquet").exists()


def test_connections_are_judged_by_what_tcp_did(tmp_path: Path) -> None:
    """A window that is always full makes a row with the limit and its share of the time."""
    story = Story().open(client_ms=0.01, broker_ms=20)
    for number in range(100):
        story.client(100 + number * 20, size=1000)
        story.broker(100 + (number + 1) * 20 - 0.001)
    capture = tmp_path / "story.pcap"
    capture.write_bytes(savefile(story.packets))

    (table,) = observed(tmp_path / "tables", capture).tcp_parts()

    assert isinstance(table, SortableTable)
    (row,) = table.rows
    assert row[3] == "requests"
    assert row[table.headers.index("retransmits")] == 0
    assert (table.left_out, table.more) == (0, "kdiag tune-buffers CAPTURE")
