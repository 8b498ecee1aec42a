"""What kdiag tells of a lab: the functions that its commands call, and what they found.

    looks = LabLooks(lab, clock)
    looks.at(WantedFinding(by="groups", finding="KD3402"))    # [Told("KD3402", {...}, "...")]

The cluster is asked while it lives; `decode` and `rebalance` read the recording of its traffic.
"""

from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Any, Final, NamedTuple

import msgspec

from kdiag.client.cluster_client import ClusterClient
from kdiag.client.configured_client import configured_client, timed_client
from kdiag.client.fetch.position import Notice
from kdiag.clock import NS_PER_MS, NS_PER_S, Clock, SteadyClock
from kdiag.diagnosis.check.judgement import judge as judge_check
from kdiag.diagnosis.coordinator import find as find_coordinator_findings
from kdiag.diagnosis.coordinator import report_on
from kdiag.diagnosis.groups.findings import find_all
from kdiag.diagnosis.rebalance import findings as rebalance_findings
from kdiag.diagnosis.rebalance.capture.capture_events import CaptureEvents
from kdiag.diagnosis.rebalance.histories import histories_of
from kdiag.diagnosis.rebalance.model import GroupHistory
from kdiag.diagnosis.recorded_faults import RecordedFaults
from kdiag.diagnosis.traffic.traffic import Traffic
from kdiag.diagnosis.transactions import find as find_transactions
from kdiag.diagnosis.transactions import judge as judge_transactions
from kdiag.exchange.context.topic_names import TopicNames
from kdiag.exchange.dissection import Dissection
from kdiag.exchange.model import Connection, Exchange, Status
from kdiag.findings.finding import Finding
from kdiag.lab.plugin.kafka_lab import KafkaLab
from kdiag.lab.scenario.clients.scenario_thread import config_of
from kdiag.lab.scenario.latency_look import SETTINGS, find_latencies
from kdiag.lab.scenario.scenario import WantedFinding
from kdiag.pcap.decoder import decode_reader
from kdiag.pcap.look_ahead import learn_all_names
from kdiag.pcap.reader import CaptureReader
from kdiag.probe.check.run import CheckPlan
from kdiag.probe.check.run import check as check_cluster
from kdiag.probe.coordinator.search import find_coordinators
from kdiag.probe.groups.survey import SurveyRequest, survey_groups
from kdiag.probe.transactions.search import find_open_transactions
from kdiag.wire.coordinator_partition import CoordinatorKind

LOOKER: Final = "kdiag-scenario"
"""The client id of whoever looks."""

_LIMIT_NS: Final = 2 * NS_PER_S
_CHECK_NS: Final = 600 * NS_PER_MS


class Told(NamedTuple):
    """Something that kdiag tells.

    Attributes:
        kind: the id of a finding, or the cause of a rebalance.
        evidence: the facts, as plain values of JSON.
        text: one line.
    """

    kind: str
    evidence: dict[str, Any]
    text: str


class _Recording(NamedTuple):
    """What the recording of a lab's traffic shows."""

    findings: list[Finding]
    histories: list[GroupHistory]


class LabLooks:
    """Looks at a lab, at each thing once."""

    def __init__(
        self, lab: KafkaLab, clock: Clock, notices: Callable[[], Iterable[Notice]] = tuple
    ) -> None:
        """Look at nothing yet.

        Args:
            lab: runs.
            clock: all times are its own.
            notices: returns what readers were told until now.
        """
        self._notices = notices
        self._lab = lab
        self._clock = clock
        self._done: dict[tuple[str, str | None, str | None], list[Told]] = {}

    def at(self, wanted: WantedFinding) -> list[Told]:
        """Return what kdiag tells, looked at as it is wanted.

        Raises:
            KdiagError: if the cluster cannot be asked at all.
        """
        key = (wanted.by, wanted.group, wanted.topic)
        if key not in self._done:
            self._done[key] = self._look(wanted)
        return self._done[key]

    def _look(self, wanted: WantedFinding) -> list[Told]:
        if wanted.by == "rebalance":
            return self._rebalances(wanted)
        if wanted.by == "tail":
            return [Told(kind, {"text": text}, text) for kind, text in self._notices()]
        find: dict[str, Callable[[], Iterable[Finding]]] = {
            "check": lambda: self._check(wanted),
            "decode": lambda: self._recording.findings,
            "find-coordinator": lambda: self._asked(lambda of: self._coordinator(of, wanted)),
            "groups": lambda: self._asked(lambda of: self._groups(of, wanted)),
            "latency": lambda: self._asked(find_latencies),
            "txn": lambda: self._asked(self._transactions),
        }
        return _told(find[wanted.by]())

    def _asked(self, ask: Callable[[ClusterClient], Iterable[Finding]]) -> list[Finding]:
        """Return what a client that is connected finds."""
        config = config_of(self._lab.bootstrap, LOOKER, SETTINGS)
        with configured_client(config, SteadyClock()) as client:
            client.connect()
            return list(ask(client))

    def _check(self, wanted: WantedFinding) -> list[Finding]:
        plan = CheckPlan(
            topics=(wanted.topic,) if wanted.topic else (),
            groups=(wanted.group,) if wanted.group else (),
            limit_ns=_CHECK_NS,
        )
        client, timed = timed_client(config_of(self._lab.bootstrap, LOOKER), self._clock)
        with client:
            return list(judge_check(check_cluster(client, timed, plan)).findings)

    def _groups(self, client: ClusterClient, wanted: WantedFinding) -> Iterable[Finding]:
        names = (wanted.group,) if wanted.group else ()
        return find_all(survey_groups(client, SurveyRequest(names=names)))

    def _transactions(self, client: ClusterClient) -> Iterable[Finding]:
        transactions = judge_transactions(find_open_transactions(client))
        commands = {each.place: "" for one in transactions for each in one.partitions}
        return find_transactions(transactions, commands)

    def _coordinator(self, client: ClusterClient, wanted: WantedFinding) -> Iterable[Finding]:
        keys = [wanted.group or LOOKER]
        facts = find_coordinators(client, keys, CoordinatorKind.GROUP, round_ns=_LIMIT_NS)
        return find_coordinator_findings([report_on(each, facts) for each in keys], facts)

    def _rebalances(self, wanted: WantedFinding) -> list[Told]:
        histories = [
            each for each in self._recording.histories if wanted.group in {None, each.group}
        ]
        told = _told(rebalance_findings.find_all(histories))
        for history in histories:
            for rebalance in history.rebalances:
                for cause in rebalance.causes:
                    facts = msgspec.to_builtins(cause)
                    facts |= {"group": history.group, "generation": rebalance.generation}
                    who = cause.client_id or "nobody"
                    text = f"{history.group}, generation {rebalance.generation}: {who}"
                    told.append(Told(cause.cause, facts, text))
        return told

    @cached_property
    def _recording(self) -> _Recording:
        """What the traffic until now shows."""
        path = self._lab.capture
        names = TopicNames()
        learn_all_names(names, [path])
        traffic, recorded = Traffic(names), RecordedFaults()
        events = CaptureEvents(names.name)
        for item in decode_reader(CaptureReader([path])):
            if isinstance(item, Exchange):
                dissection = Dissection(item)
                traffic.add(dissection)
                events.add(dissection)
                if item.pairing is not Status.OK:
                    recorded.add_exchange(item)
            elif isinstance(item, Connection):
                recorded.add_connection(item)
        findings = [*recorded.findings(), *traffic.findings()]
        return _Recording(findings, list(histories_of(events.in_order(), "capture")))


def _told(findings: Iterable[Finding]) -> list[Told]:
    return [Told(each.id, each.evidence, each.title) for each in findings]
