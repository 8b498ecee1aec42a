"""What limits the connections of a capture, as one finding for each problem: the worst connection.

    connection 3   KD6003, the client's window was closed for 12 % of the time
    connection 7   KD6003, 61 %
    connection 9   KD6005, 4 segments sent again

gives KD6003 of connection 7, the worst of 2, and KD6005 of connection 9.
"""

from collections.abc import Iterator

import msgspec

from kdiag.diagnosis.tcp.findings import find
from kdiag.diagnosis.tcp.limit import limits_of
from kdiag.diagnosis.tcp.request_cycles import RequestCycles
from kdiag.exchange.model import Connection, Exchange
from kdiag.findings.finding import Finding


class _Worst(msgspec.Struct):
    """The worst finding of a kind, and how many there are."""

    finding: Finding
    subjects: int = 1


class WorstConnections:
    """Collects the findings on connections that have facts of TCP."""

    def __init__(self) -> None:
        self._cycles: dict[int, RequestCycles] = {}
        self._worst: dict[str, _Worst] = {}

    def add(self, exchange: Exchange) -> None:
        """Add an exchange of a connection that has not ended."""
        number = exchange.connection.number
        cycles = self._cycles.get(number)
        if cycles is None:
            cycles = self._cycles[number] = RequestCycles()
        cycles.add(exchange)

    def end(self, connection: Connection) -> None:
        """Judge a connection that has ended."""
        self.judge(connection, self._cycles.pop(connection.number, RequestCycles()))

    def judge(self, connection: Connection, cycles: RequestCycles) -> None:
        """Judge a connection with its request cycles."""
        if connection.tcp is None:
            return
        for finding in find(connection, limits_of(connection.tcp, cycles), cycles):
            worst = self._worst.get(finding.id)
            if worst is None:
                self._worst[finding.id] = _Worst(finding)
                continue
            worst.subjects += 1
            if badness(finding) > badness(worst.finding):
                worst.finding = finding

    def findings(self) -> Iterator[Finding]:
        """Yield the worst of each kind."""
        for _, worst in sorted(self._worst.items()):
            finding, connection = worst.finding, worst.finding.evidence.get("connection")
            title = finding.title
            if connection is not None:
                title = f"connection {connection}: {title}"
            if worst.subjects > 1:
                title += f" (the worst of {worst.subjects:,})"
            evidence = finding.evidence | {"subjects": worst.subjects}
            yield msgspec.structs.replace(finding, title=title, evidence=evidence)


def badness(finding: Finding) -> tuple[int, int, int]:
    """Return how bad a finding on a connection is, beside others of its kind.

    Of two that are as bad the first connection counts, in whichever order they end.
    """
    evidence = finding.evidence
    of_both = evidence.get("retransmits", 0), evidence.get("percent", 0)
    return *of_both, -evidence.get("connection", 0)
