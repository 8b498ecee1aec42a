import numpy as np

from kdiag.pcap.files.capture_facts import CaptureFacts


def test_packets_may_come_in_any_order() -> None:
    """The earliest and the latest count, whichever block has them."""
    file = CaptureFacts("a.pcap")
    assert (file.packets, file.first_ns, file.last_ns) == (0, None, None)
    file.add(np.array([5, 3], np.int64))
    file.add(np.array([4, 9, 1], np.int64))

    assert (file.packets, file.first_ns, file.last_ns) == (5, 1, 9)
