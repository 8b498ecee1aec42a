"""Runs a scenario: a lab, its clients, what disturbs them, and kdiag's looks.

    outcome = run_scenario(scenario)
    outcome.passes                               # whether all was found that must be
    run_scenario(scenario, is_disturbed=False)   # passes if nothing of it is found

Everything ends by the deadline of the scenario: what was waited for in vain is told then. Clients
that fail are told, too, and are no failure: a scenario may be about just that.
"""

from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

from kdiag.clock import NS_PER_S, Clock, SystemClock
from kdiag.errors import ConfigError, KdiagError
from kdiag.exchange.secrets.new_file import open_new
from kdiag.lab.broker.seed_records import append_batch, seed_records
from kdiag.lab.controller.quorum_controller import NewTopic
from kdiag.lab.fault.grammar import parse_fault
from kdiag.lab.plugin.kafka_lab import KafkaLab
from kdiag.lab.purgatory.operation_key import TopicPartitionOperationKey
from kdiag.lab.scenario.clients.foreign_program import ForeignProgram
from kdiag.lab.scenario.clients.group_member import ScenarioMember
from kdiag.lab.scenario.clients.record_writers import RecordProducer, TransactionWriter
from kdiag.lab.scenario.clients.request_sender import RequestSender
from kdiag.lab.scenario.clients.scenario_thread import config_of
from kdiag.lab.scenario.clients.topic_reader import TopicReader
from kdiag.lab.scenario.judgement import LookVerdict, judge
from kdiag.lab.scenario.lab_moments import LabWatch, RunningClient
from kdiag.lab.scenario.looks import LabLooks
from kdiag.lab.scenario.scenario import (
    CommandClient,
    LabMoment,
    LabTopic,
    MemberClient,
    ProducerClient,
    ReaderClient,
    Scenario,
    ScenarioClient,
    Step,
    TransactionClient,
)
from kdiag.lab.scenario.scenario_file import lab_settings
from kdiag.probe.rebalance.probe_member import MemberOrder

_INTERNAL: Final = ("__consumer_offsets", "__transaction_state")
"""With one partition each, so that nobody waits for fifty to be created."""

_ORDERS: Final = {
    "leave": MemberOrder.LEAVE,
    "crash": MemberOrder.CRASH,
    "pause": MemberOrder.PAUSE,
    "resume": MemberOrder.RESUME,
}


class ScenarioOutcome(NamedTuple):
    """How a scenario went.

    Attributes:
        scenario: which.
        is_disturbed: whether its disturbance took place.
        took_ns: how long it took.
        verdicts: of what must be found; empty if it came to no look.
        trouble: why it came to no end, as when something was waited for in vain; None if it did.
        failures: why clients ended before their work was done.
    """

    scenario: Scenario
    is_disturbed: bool
    took_ns: int
    verdicts: tuple[LookVerdict, ...] = ()
    trouble: KdiagError | None = None
    failures: tuple[str, ...] = ()

    @property
    def passes(self) -> bool:
        """Return whether kdiag told what it must."""
        return self.trouble is None and all(each.is_right for each in self.verdicts)


def run_scenario(
    scenario: Scenario,
    *,
    is_disturbed: bool = True,
    capture: Path | None = None,
    clock: Clock | None = None,
) -> ScenarioOutcome:
    """Run a scenario.

    Args:
        scenario: which.
        is_disturbed: whether what disturbs takes place.
        capture: gets the recording of the traffic; None to keep none.
        clock: all times are its own; the system's by default.

    Raises:
        ConfigError: if the lab cannot be started so, or a client has wrong settings.
    """
    clock = clock or SystemClock()
    began_ns = clock.monotonic_ns()
    run = _ScenarioRun(scenario, clock, is_disturbed=is_disturbed)
    with TemporaryDirectory(prefix="kdiag-scenario-") as folder:
        outcome = run.run(Path(folder))
        if capture is not None:
            with open_new(capture, is_private=True) as file:
                file.write((Path(folder) / "lab.pcapng").read_bytes())
    return outcome._replace(took_ns=clock.monotonic_ns() - began_ns)


class _ScenarioRun:
    """One run of a scenario."""

    def __init__(self, scenario: Scenario, clock: Clock, *, is_disturbed: bool) -> None:
        self._scenario = scenario
        self._clock = clock
        self._is_disturbed = is_disturbed
        self._deadline_ns = clock.monotonic_ns() + scenario.deadline_s * NS_PER_S
        self._watch = LabWatch(clock, self._deadline_ns)
        self._clients: dict[str, RunningClient] = {}
        self._bootstrap = ""

    def run(self, folder: Path) -> ScenarioOutcome:
        """Run it, and return how it went."""
        scenario = self._scenario
        settings = lab_settings(scenario)._replace(
            topics=(*map(_topic, scenario.topics), *(NewTopic(each, 1) for each in _INTERNAL)),
            on_request=self._watch.on_request,
        )
        trouble: KdiagError | None = None
        verdicts: tuple[LookVerdict, ...] = ()
        with ExitStack() as closing:
            lab = closing.enter_context(KafkaLab(settings, folder, self._clock))
            closing.callback(self._stop_clients)
            self._bootstrap = lab.bootstrap
            self._seed(lab)
            try:
                self._play(lab)
                verdicts = self._look(lab)
            except ConfigError:
                raise  # it is the scenario that is wrong
            except KdiagError as error:
                trouble = error
            failures = tuple(each.failure for each in self._clients.values() if each.failure)
        return ScenarioOutcome(scenario, self._is_disturbed, 0, verdicts, trouble, failures)

    def _seed(self, lab: KafkaLab) -> None:
        """Put records into the topics that are to have some."""
        for each in self._scenario.topics:
            if each.seeded:
                seed_records(lab.cluster, each.seeded, self._clock, (each.name,))

    def _play(self, lab: KafkaLab) -> None:
        """Have clients begin, disturb them, and wait until it is time to look."""
        steps = list(self._scenario.disturb) if self._is_disturbed else []
        while steps and steps[0].after is None:
            self._take(steps.pop(0), lab)
        for client in self._scenario.clients:
            self._await(client.after, lab)
            self._begin(client)
        for step in steps:
            self._await(step.after, lab)
            self._take(step, lab)
        if self._scenario.until is not None:
            self._await(self._scenario.until, lab)
        else:
            self._watch.await_ends(self._clients)

    def _look(self, lab: KafkaLab) -> tuple[LookVerdict, ...]:
        readers = [each for each in self._clients.values() if isinstance(each, TopicReader)]
        looks = LabLooks(
            lab, self._clock, lambda: [one for each in readers for one in each.notices]
        )
        return tuple(
            judge(wanted, looks.at(wanted), is_disturbed=self._is_disturbed)
            for wanted in self._scenario.find
        )

    def _await(self, moment: LabMoment | None, lab: KafkaLab) -> None:
        if moment is not None:
            self._watch.await_moment(moment, lab, self._clients)
        self._watch.mark()

    def _take(self, step: Step, lab: KafkaLab) -> None:
        """Do what a step says."""
        cluster = lab.cluster
        if step.fault is not None:
            lab.faults.add(parse_fault(step.fault))
        elif step.heal:
            lab.faults.clear()
        elif step.stop_node is not None:
            cluster.stop_node(step.stop_node)
        elif step.kill_node is not None:
            cluster.stop_node(step.kill_node, is_clean=False)
        elif step.start_node is not None:
            cluster.start_node(step.start_node)
        elif step.join is not None:
            self._begin(step.join)
        elif step.late_record is not None:
            self._write_late(step.late_record, lab)
        else:
            self._order(step)

    def _order(self, step: Step) -> None:
        """Tell members what to do."""
        for key, order in _ORDERS.items():
            name = getattr(step, key)
            if name is not None:
                self._member(name).order(order)
        for name, topics in step.subscribe.items():
            self._member(name).order(MemberOrder.SUBSCRIBE, topics)

    def _write_late(self, name: str, lab: KafkaLab) -> None:
        """Have a record of a transaction arrive."""
        writer = self._clients[name]
        assert isinstance(writer, TransactionWriter)
        key = TopicPartitionOperationKey(*writer.place)
        leader = lab.cluster.controller.image.topics[key.topic].partitions[key.partition].leader
        append_batch(lab.cluster.node(leader), key, writer.next_batch())

    def _member(self, name: str) -> ScenarioMember:
        member = self._clients[name]
        assert isinstance(member, ScenarioMember)
        return member

    def _begin(self, wanted: ScenarioClient) -> None:
        """Have a client begin."""
        client = self._client(wanted)
        self._clients[wanted.name] = client
        client.start()

    def _client(self, wanted: ScenarioClient) -> RunningClient:
        if isinstance(wanted, CommandClient):
            return ForeignProgram(wanted, self._bootstrap)
        config = config_of(self._bootstrap, wanted.name, wanted.settings)
        if isinstance(wanted, MemberClient):
            return ScenarioMember(wanted, config, self._clock)
        if isinstance(wanted, ReaderClient):
            return TopicReader(wanted, config, self._clock, self._deadline_ns)
        if isinstance(wanted, ProducerClient):
            return RecordProducer(wanted, config, self._clock, self._deadline_ns)
        if isinstance(wanted, TransactionClient):
            return TransactionWriter(wanted, config, self._clock, self._deadline_ns)
        return RequestSender(wanted, config, self._clock, self._deadline_ns)

    def _stop_clients(self) -> None:
        for each in self._clients.values():
            each.stop()


def _topic(wanted: LabTopic) -> NewTopic:
    configs = {name: str(value) for name, value in wanted.settings.items()}
    return NewTopic(wanted.name, wanted.partitions, wanted.replicas, configs=configs)
