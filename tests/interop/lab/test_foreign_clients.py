"""Clients in C, Go, Java, JavaScript and Python use a lab as they use Kafka.

Each is a program that does the same (`foreign_clients.judged`). They run at the same time on one
lab, and on one Kafka: what they print is equal, for it is what was expected of both.
"""

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import confluent_kafka
import pytest

from folders import ROOT
from foreign_clients.judged import (
    ACKS,
    CODECS,
    CODECS_OF,
    DEADLINE_S,
    LATER,
    OFFSET_IN_A_TRANSACTION,
    TRANSACTIONS,
    WITHOUT_OFFSETS,
    committed_values,
    expected,
    text_of,
    values_of,
)
from foreign_clients.programs import CLIENTS, kcat
from kdiag.clock import SystemClock
from kdiag.lab.broker.lab_cluster import LabCluster
from kdiag.lab.proxy.proxy_server import ProxyServer, ProxySettings
from lab_ends.proxied_lab import client_config
from programs.child_program import ChildProgram
from real_kafka import topic_maker
from real_kafka.kafka_cluster import KafkaCluster
from real_kafka.kafka_jars import UnavailableError
from real_kafka.releases import USUAL
from tiers.sampling import IS_CI, IS_EXHAUSTIVE

pytestmark = pytest.mark.soak

STAGES: Final = ("records", "groups", "transactions")
ENVIRONMENT: Final = os.environ | {"PYTHONPATH": str(ROOT / "tests" / "rig")}


class ForeignRuns:
    """Programs that run on one cluster at the same time.

    Attributes:
        bootstrap: the cluster.
    """

    def __init__(self, bootstrap: str, running: ExitStack) -> None:
        self.bootstrap = bootstrap
        self._processes: dict[str, ChildProgram] = {}
        self._lacks: dict[str, UnavailableError] = {}
        for name, make in CLIENTS.items():
            try:
                command = [*make(), bootstrap, name, *STAGES]
            except UnavailableError as error:
                self._lacks[name] = error
                continue
            pipe = subprocess.PIPE
            process = ChildProgram(command, stdout=pipe, stderr=pipe, env=ENVIRONMENT)
            self._processes[name] = running.enter_context(process)

    def result(self, name: str) -> object:
        """Return what a program printed; the test is skipped if this machine does not have it."""
        if name in self._lacks:
            if IS_CI:
                raise self._lacks[name]
            pytest.skip(str(self._lacks[name]))
        out, err = self._processes[name].communicate(timeout=3 * DEADLINE_S)
        assert self._processes[name].returncode == 0, err.decode()
        return json.loads(out)


PROXY: Final = f"the proxy before Kafka {USUAL}"
CLUSTERS: Final = (
    pytest.param("lab", marks=pytest.mark.real),
    f"Kafka {USUAL}",
    *([PROXY] if IS_EXHAUSTIVE else []),
)
"""Where they run; through the proxy only in exhaustive runs: `test_faults` goes there always."""


@pytest.fixture(scope="module", params=CLUSTERS)
def runs(
    request: pytest.FixtureRequest,
    get_kafka_jars: Callable[[str], Path],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[ForeignRuns]:
    """Yield all programs, running on a cluster."""
    with ExitStack() as running:
        if request.param == "lab":
            bootstrap = running.enter_context(LabCluster()).bootstrap
        else:
            get_kafka_jars(USUAL)
            cluster = KafkaCluster(USUAL, tmp_path_factory.mktemp("kafka"))
            bootstrap = running.enter_context(cluster).bootstrap
        if request.param == PROXY:
            settings, clock = ProxySettings(), SystemClock()
            proxy = ProxyServer(client_config(bootstrap), settings, clock)
            bootstrap = running.enter_context(proxy).bootstrap
        yield ForeignRuns(bootstrap, running)


class Judge:
    """Another client, which reads what the others wrote and committed."""

    def __init__(self, bootstrap: str, group: str, isolation_level: str) -> None:
        self._options: dict[str, str | int | bool] = {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "isolation.level": isolation_level,
        }

    def values(self, topic: str) -> list[str]:
        """Return all values of the two partitions of a topic, in alphabetical order."""
        consumer = confluent_kafka.Consumer(self._options)
        consumer.assign([confluent_kafka.TopicPartition(topic, each, 0) for each in range(2)])
        read: list[str] = []
        ends = 0
        while ends < 2:
            message = consumer.poll(DEADLINE_S)
            assert message is not None, read
            error = message.error()
            if error is None:
                read.append((message.value() or b"").decode())
            else:
                assert error.code() == confluent_kafka.KafkaError._PARTITION_EOF
                ends += 1
        consumer.close()
        return sorted(read)

    def committed(self, topic: str, partition: int) -> int:
        """Return the committed offset of the group."""
        consumer = confluent_kafka.Consumer(self._options)
        asked = [confluent_kafka.TopicPartition(topic, partition)]
        (found,) = consumer.committed(asked, DEADLINE_S)
        consumer.close()
        return found.offset


@pytest.mark.parametrize("name", CLIENTS)
def test_a_client_does_all_it_should(runs: ForeignRuns, name: str) -> None:
    """And librdkafka reads what it wrote, whatever the codec, and what it committed."""
    codecs = CODECS_OF.get(name, CODECS)
    assert runs.result(name) == expected(STAGES, codecs)
    wanted = [*values_of(codecs), LATER, *committed_values()]
    judge = Judge(runs.bootstrap, f"{name}-offsets", "read_committed")
    assert judge.values(name) == sorted(wanted)
    if name not in WITHOUT_OFFSETS:
        assert judge.committed(name, 1) == OFFSET_IN_A_TRANSACTION
    uncommitted = Judge(runs.bootstrap, "judge", "read_uncommitted")
    assert uncommitted.values(name) == sorted([*values_of(codecs), LATER, *TRANSACTIONS])


def test_kcat_writes_and_reads(runs: ForeignRuns) -> None:
    """With each codec and acks mode; then it reads to the end."""
    try:
        program = kcat()
    except UnavailableError as error:
        if IS_CI:
            raise
        pytest.skip(str(error))
    place = ["-b", runs.bootstrap, "-t", "kcat", "-p", "0"]
    topic_maker.create(runs.bootstrap, "kcat")
    for codec in CODECS:
        for acks in ACKS:
            subprocess.run(
                [program, "-P", *place, "-z", codec, "-X", f"acks={acks}"],
                input=text_of(codec, acks),
                text=True,
                check=True,
            )
    command = [program, "-C", *place, "-e", "-q", "-o", "beginning"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert sorted(done.stdout.splitlines()) == values_of()
