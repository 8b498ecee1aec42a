import pickle
from pathlib import Path

import pytest

from kdiag.errors import ReportError
from kdiag.pipeline.input.split import Split
from kdiag.pipeline.shared import Shared, share

SPLIT = Split("a.pcap", 24, 99, b"\x00\xff", 1, 2, 3, 4)


def test_a_shared_value_is_what_was_shared(tmp_path: Path) -> None:
    """Bytes and tuples included, in any process that gets its URI."""
    shared = share(str(tmp_path), [SPLIT], list[Split])
    sent: Shared[list[Split]] = pickle.loads(pickle.dumps(shared))

    assert sent.value == [SPLIT]
    assert sent == shared


def test_a_process_reads_a_value_once(tmp_path: Path) -> None:
    """All its tasks use the same object."""
    shared = share(str(tmp_path), {"id": "name"}, dict[str, str])

    assert shared.value is Shared[dict[str, str]](shared.uri, dict[str, str]).value


def test_two_values_never_lie_in_one_file(tmp_path: Path) -> None:
    """A worker that outlives a run must not take the old value for the new one."""
    one, two = (share(str(tmp_path), number, int) for number in (1, 2))

    assert (one.value, two.value) == (1, 2)


def test_what_is_gone_is_an_error_that_says_so(tmp_path: Path) -> None:
    """Another run of the same name removes the folder of this one."""
    shared = share(str(tmp_path), 1, int)
    Path(shared.uri).unlink()

    with pytest.raises(ReportError, match="another run of the same name"):
        _ = shared.value
