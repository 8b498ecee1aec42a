import subprocess
import sys
from pathlib import Path

import pytest

PASSING = """
import confluent_kafka
import pytest


def send(bootstrap):
    producer = confluent_kafka.Producer({"bootstrap.servers": bootstrap, "linger.ms": 0})
    told = []
    producer.produce("orders", b"v", on_delivery=lambda error, _: told.append(error))
    producer.flush(30)
    return told


@pytest.mark.kafka_lab(topics=["orders:1"], faults=["ApiVersions delay=1ms"])
def test_an_order_is_sent_again(kafka_lab):
    with kafka_lab.fault("Produce error=NOT_LEADER_OR_FOLLOWER times=1") as fault:
        assert send(kafka_lab.bootstrap) == [None]
    assert fault.fired == 1
    assert len(kafka_lab.exchanges(api="Produce")) == 2


def test_a_lab_is_shared(kafka_lab_session):
    assert send(kafka_lab_session.bootstrap) == [None]


@pytest.mark.kafka_lab(clock="virtual")
def test_time_stands_still(kafka_lab):
    before_ns = kafka_lab.clock.monotonic_ns()
    kafka_lab.advance(3600)
    assert kafka_lab.clock.monotonic_ns() - before_ns == 3600 * 10**9
"""
FAILING = (
    PASSING.replace("times=1", "times=2").partition("def test_a_lab_is_shared")[0]
    + """

@pytest.mark.kafka_lab(topic="orders")
def test_wrong(kafka_lab):
    pass
"""
)


def run(folder: Path, text: str) -> tuple[int, str]:
    """Return the exit code and the output of a run of pytest that knows the plugin."""
    (folder / "test_orders.py").write_text(text)
    # It may be installed under its name as well, and one plugin is loaded but once.
    words = ("no:kdiag", "kdiag.lab.plugin.pytest_plugin", "no:cacheprovider", "no:randomly")
    plugins = [f"-p{word}" for word in words]
    command = [sys.executable, "-m", "pytest", "-q", "--strict-markers", *plugins, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.soak
def test_a_project_has_labs_for_its_tests(tmp_path: Path) -> None:
    """One for each test, one for all, and one whose time stands still."""
    code, output = run(tmp_path, PASSING)
    assert code == 0, output
    assert "3 passed" in output


@pytest.mark.soak
def test_a_failed_test_shows_what_crossed_the_wire(tmp_path: Path) -> None:
    """And a marker that asks for something else is said."""
    code, output = run(tmp_path, FAILING)
    assert code == 1, output
    assert "Exchanges of kafka_lab" in output
    assert "NOT_LEADER_OR_FOLLOWER" in output
    assert "the marker kafka_lab has no topic" in output


@pytest.mark.thorough
def test_a_run_without_a_lab_loads_none(pytestconfig: pytest.Config) -> None:
    """The plugin itself is small."""
    del pytestconfig
    program = "import sys, kdiag.lab.plugin.pytest_plugin; print('kdiag.lab.broker' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert done.stdout == b"False\n"
