import numpy as np

from kdiag.pcap.files.block import distinct, gather, is_any
from recordings.capture_writer import block_of


def test_structures_are_read_at_any_offset_up_to_the_last_byte() -> None:
    """Neither alignment nor byte order matters."""
    data = np.frombuffer(bytes(range(9)), np.uint8)
    shape = np.dtype([("a", ">u2"), ("b", "<u2")])
    fields = gather(data, np.array([0, 3, 5]), shape)
    assert fields["a"].tolist() == [0x0001, 0x0304, 0x0506]
    assert fields["b"].tolist() == [0x0302, 0x0605, 0x0807]


def test_nothing_is_read_from_data_that_is_too_short() -> None:
    """No offsets need no data."""
    fields = gather(np.zeros(1, np.uint8), np.zeros(0, np.int64), np.dtype([("a", ">u4")]))
    assert len(fields) == 0


def test_the_first_packets_of_a_block_keep_their_data() -> None:
    """A shortened block has fewer rows in every column and the same buffer."""
    block = block_of([b"a", b"bc", b"def"])
    first = block.first(2)
    assert first.data is block.data
    assert {len(column) for column in first[1:]} == {2}
    assert first.captured.tolist() == [1, 2]


def test_the_few_values_of_a_column_are_listed_once() -> None:
    """They stand in the order in which they come up; an empty column has none."""
    assert distinct(np.array([1, 1, 113, 1, 101, 113])) == [1, 113, 101]
    assert distinct(np.zeros(0, np.int64)) == []


def test_rows_with_one_of_a_few_values_are_found() -> None:
    """No value at all is found nowhere."""
    column = np.array([6, 17, 47, 17])
    assert is_any(column, (17, 47)).tolist() == [False, True, True, True]
    assert not is_any(column, ()).any()
