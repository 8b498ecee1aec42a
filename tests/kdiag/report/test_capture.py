import io
from pathlib import Path

import pytest

from folders import CAPTURES, TLS_CAPTURES
from kdiag.errors import CaptureError
from kdiag.exchange.model import Connection
from kdiag.report.capture import open_capture
from kdiag.report.tables.catalog import TableChoice
from recordings.capture_tables import tables_of

CAPTURE = CAPTURES / "produce_consume_group.pcap"


def test_a_capture_yields_its_exchanges_each_time() -> None:
    """With the names of APIs and what fetch sessions read."""
    capture = open_capture(CAPTURE)

    first, second = (
        [(each.exchange.number, each.api, each.error) for each in capture] for _ in range(2)
    )

    assert first == second
    assert (18, "JoinGroup", "MEMBER_ID_REQUIRED") in first
    assert capture.warnings == []
    assert any(isinstance(each, Connection) for each in capture.items())


def test_the_tables_are_those_of_the_program() -> None:
    """Those that are chosen."""
    choice = TableChoice(bodies=False, records=True)

    assert open_capture(CAPTURE).tables(choice) == tables_of([CAPTURE], choice)


def test_a_key_log_opens_tls() -> None:
    """Without it there are no exchanges."""
    file = TLS_CAPTURES / "tls13_kafkapython.pcap"

    assert list(open_capture(file)) == []
    assert list(open_capture(file, keylog=str(file.with_suffix(".keylog"))))


def test_what_could_not_be_read_is_told() -> None:
    """A file that ends early is read as far as it goes."""
    capture = open_capture(io.BytesIO(CAPTURE.read_bytes()[:-5]))

    assert list(capture)
    assert len(capture.warnings) == 1


def test_what_is_not_there_is_an_error(tmp_path: Path) -> None:
    """Of a capture when it is read, of a key log at once."""
    with pytest.raises(CaptureError):
        list(open_capture(tmp_path / "none.pcap"))
    with pytest.raises(CaptureError, match="No such file"):
        open_capture(CAPTURE, keylog=tmp_path / "none.log")
