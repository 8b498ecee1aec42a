import pytest

from kdiag.diagnosis.check.disks import LogDir, disk_findings

GB = 1_000_000_000
S_NS = 1_000_000_000
FILLING = LogDir(1, "/data", 0, 100 * GB, 2 * GB, 12_000_000, 2 * S_NS)
STORAGE_ERROR, DENIED = 56, 31


def test_a_directory_that_failed_is_an_error() -> None:
    """With what the broker lost with it."""
    failed = LogDir(1, "/data/b", STORAGE_ERROR)
    (finding,) = disk_findings([failed], {1: {"count": 2, "partitions": "orders[0], orders[1]"}})
    assert finding.id == "KD2010"
    assert finding.title == (
        "broker 1 has taken /data/b out of service with KAFKA_STORAGE_ERROR: "
        "2 replicas are offline, orders[0], orders[1]"
    )


def test_a_disk_that_fills_up_soon_is_a_warning() -> None:
    """By its rate between two looks."""
    (finding,) = disk_findings([FILLING], {})
    assert finding.id == "KD2011"
    assert finding.title == (
        "/data of broker 1 will be full in 6 min: 2.0 GB of 100 GB are left, and it fills by "
        "6.0 MB a second (over 2.0 s)"
    )


@pytest.mark.parametrize(
    "log_dir",
    [
        FILLING._replace(filled_bytes=None),
        FILLING._replace(filled_bytes=-12_000_000),
        FILLING._replace(filled_bytes=4_096),
        FILLING._replace(apart_ns=S_NS // 10),
        FILLING._replace(usable_bytes=90 * GB),
        LogDir(1, "/data", DENIED),
        LogDir(1, "/data", 0),
    ],
    ids=[
        "one look",
        "it gets emptier",
        "a few kilobytes",
        "looks too close",
        "room for hours",
        "not allowed",
        "sizes not known",
    ],
)
def test_other_disks_are_well_as_far_as_is_known(log_dir: LogDir) -> None:
    """The same directory, with another cause."""
    assert list(disk_findings([log_dir], {})) == []
