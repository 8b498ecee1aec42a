"""The pytest plugin of kdiag: fixtures with a lab, and its exchanges where a test has failed.

    def test_a_late_ack_is_not_lost(kafka_lab):
        kafka_lab.fault("Produce delay=2s times=1")
        send_an_order(kafka_lab.bootstrap)
        assert len(kafka_lab.exchanges(api="Produce")) == 2

    @pytest.mark.kafka_lab(topics=["orders:3"], nodes=3, faults=["Fetch delay=10ms"])
    def test_three_brokers(kafka_lab): ...

`kafka_lab` is a lab for one test, `kafka_lab_session` one for all of a run. The marker says what
`kafka_lab` is started with; `clock="virtual"` has its time stand still until `kafka_lab.advance`.
"""

from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Any, Final

import pytest

from kdiag.clock import ManualClock, SystemClock

if TYPE_CHECKING:  # a run without a lab loads nothing else
    from kdiag.lab.plugin.kafka_lab import KafkaLab

MOST_LINES: Final = 100
"""How many exchanges a failed test shows: the last ones."""

_MARKER: Final = "kafka_lab"
_FIXTURES: Final = ("kafka_lab", "kafka_lab_session")
_KEYS: Final = frozenset(("topics", "nodes", "faults", "release", "clock"))
_BEGAN: Final = pytest.StashKey[int]()


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker."""
    line = "kafka_lab(topics, nodes, faults, release, clock): what the fixture kafka_lab starts"
    config.addinivalue_line("markers", line)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Note when a test begins."""
    item.stash[_BEGAN] = SystemClock().epoch_ns()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add the exchanges of a test that has failed."""
    report = yield
    if report.when == "call" and report.failed:
        for name in _FIXTURES:
            lab = getattr(item, "funcargs", {}).get(name)
            if lab is not None:
                report.sections.append((f"Exchanges of {name}", _text(lab, item.stash[_BEGAN])))
    return report


@pytest.fixture
def kafka_lab(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> "Iterator[KafkaLab]":
    """Return a Kafka cluster for this test: `bootstrap`, `fault`, `exchanges`, `capture`."""
    marker = request.node.get_closest_marker(_MARKER)
    given = {} if marker is None else dict(marker.kwargs)
    with _lab(given, tmp_path_factory) as lab:
        yield lab


@pytest.fixture(scope="session")
def kafka_lab_session(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[KafkaLab]":
    """Return a Kafka cluster for all tests of this run."""
    with _lab({}, tmp_path_factory) as lab:
        yield lab


def _lab(given: dict[str, Any], folders: pytest.TempPathFactory) -> "KafkaLab":
    """Return a lab, with the faults that it begins with.

    Raises:
        pytest.UsageError: if the marker asks for something else.
    """
    from kdiag.errors import KdiagError  # noqa: PLC0415 - 100 ms with the next ones, if there is a lab
    from kdiag.lab.broker.lab_cluster import LabSettings  # noqa: PLC0415 - as above
    from kdiag.lab.controller.quorum_controller import NewTopic  # noqa: PLC0415 - as above
    from kdiag.lab.plugin.kafka_lab import KafkaLab  # noqa: PLC0415 - as above

    unknown = sorted(given.keys() - _KEYS)
    if unknown:
        known = ", ".join(sorted(_KEYS))
        raise pytest.UsageError(f"the marker kafka_lab has no {unknown[0]}; it has {known}")
    topics = []
    for text in given.get("topics", ()):
        name, _, count = text.partition(":")
        topics.append(NewTopic(name, int(count or 1)))
    settings = LabSettings(topics=tuple(topics), node_count=given.get("nodes", 1))
    if "release" in given:
        settings = settings._replace(release=given["release"])
    is_virtual = given.get("clock", "system") == "virtual"
    clock = ManualClock(SystemClock().epoch_ns()) if is_virtual else None
    lab = KafkaLab(settings, folders.mktemp("kafka-lab"), clock)
    try:
        for text in given.get("faults", ()):
            lab.fault(text)
    except KdiagError as error:
        raise pytest.UsageError(str(error)) from None
    return lab


def _text(lab: "KafkaLab", since_ns: int) -> str:
    """Return the last exchanges since a test began."""
    lines = lab.lines(since_ns)
    left_out = len(lines) - MOST_LINES
    if left_out > 0:
        lines = [f"({left_out} before are left out)", *lines[-MOST_LINES:]]
    return "\n".join([*(lines or ["none"]), f"recorded in {lab.capture}"])
