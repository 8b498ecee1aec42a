"""The stage of the listeners: whether clients can use the addresses that brokers advertise.

Clients connect to a bootstrap server first, and to these addresses from then on. An address that
works from here may still be useless elsewhere: its reach says how far it is known.

    127.0.0.1, ::1       MACHINE      this machine itself, on every machine
    169.254.0.0/16       LINK         one network segment
    10.0.0.0/8 ...       NETWORK      a private network, or Docker's
    93.184.216.34        EVERYWHERE

An address is narrow if it reaches less far than the one by which the cluster was found: a client
that came from a private network and is sent to 127.0.0.1 will not arrive.
"""

import re
from collections import defaultdict
from collections.abc import Iterator
from enum import IntEnum
from ipaddress import IPv4Address, IPv4Network, IPv6Address, ip_address
from typing import Any, Final

import msgspec

from kdiag.clock import NS_PER_MS
from kdiag.diagnosis.broker_versions import api_rows, newest_release
from kdiag.diagnosis.broker_versions import find as find_mixed
from kdiag.diagnosis.check.facts import CheckedEndpoint, CheckFacts, Visit
from kdiag.diagnosis.check.report import (
    CheckPart,
    CheckRow,
    CheckStage,
    CheckStatus,
    listed,
    status_of,
)
from kdiag.diagnosis.check.tls import expiring
from kdiag.diagnosis.connection_finding import (
    connection_finding,
    of_hanging_broker,
    sentence,
)
from kdiag.diagnosis.latency.ranks import is_slow, slow_evidence
from kdiag.errors import ConnectError, Fault, Layer
from kdiag.findings.finding import Finding, found

_DOCKER: Final = IPv4Network("172.17.0.0/16")
_SHARED: Final = IPv4Network("100.64.0.0/10")
_CONTAINER_ID: Final = re.compile(r"[0-9a-f]{12}")
_CLUSTER_NAMES: Final = (".svc", ".cluster.local")
_DOCKER_NAMES: Final = (".docker.internal",)
_MIXED: Final = "KD5001"
_ADDRESS: Final = frozenset((Layer.DNS, Layer.TCP))
"""The layers in which a failure means that the address is wrong."""


class Reach(IntEnum):
    """How far an address is known, the least first."""

    NOWHERE = 0
    MACHINE = 1
    LINK = 2
    NETWORK = 3
    EVERYWHERE = 4


def reach_of(ip: str) -> Reach:
    """Return the reach of an IP address.

    Args:
        ip: as text; an IPv6 address may have a `%zone`.
    """
    address = _plain(ip)
    if address.is_unspecified:
        return Reach.NOWHERE
    if address.is_loopback:
        return Reach.MACHINE
    if address.is_link_local:
        return Reach.LINK
    return Reach.NETWORK if _is_private(address) else Reach.EVERYWHERE


def where(host: str, ip: str | None) -> str | None:
    """Return a description of a special address; None if it is not special.

    Args:
        host: the advertised host.
        ip: the address to which it resolves here; None if it does not.
    """
    by_name = _by_name(host, ip)
    if by_name is not None or ip is None:
        return by_name
    address = _plain(ip)
    reach = reach_of(ip)
    if reach is Reach.NETWORK and address.version == _DOCKER.version and address in _DOCKER:
        return "an address inside Docker's default network, known on its host only"
    return _BY_REACH.get(reach)


_BY_REACH: Final = {
    Reach.NOWHERE: "no address that anybody can connect to",
    Reach.MACHINE: "an address that means, on every machine, that machine itself",
    Reach.LINK: "a link-local address, known on one network segment only",
    Reach.NETWORK: "a private address, known inside its network only",
}


def _by_name(host: str, ip: str | None) -> str | None:
    name = host.lower().rstrip(".")
    if name.endswith(_DOCKER_NAMES):
        return "a name that only Docker containers know"
    if name.endswith(_CLUSTER_NAMES):
        return "a name that only pods of its Kubernetes cluster know"
    if _CONTAINER_ID.fullmatch(name):
        return "the id of a container, a name that only its Docker network knows"
    if ip is None and "." not in name and ":" not in name:
        return "a name without a domain, as containers have: known in their network only"
    return None


def _plain(ip: str) -> IPv4Address | IPv6Address:
    """Return an address; an IPv4 address written as IPv6 is returned as IPv4."""
    address = ip_address(ip.partition("%")[0])
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address


def _is_private(address: IPv4Address | IPv6Address) -> bool:
    is_shared = isinstance(address, IPv4Address) and address in _SHARED
    return address.is_private or is_shared


def judge_listeners(facts: CheckFacts) -> CheckPart:
    """Return a row for the advertised address of each broker, and the problems of these."""
    part = CheckPart()
    start = _start(facts)
    for endpoint in facts.listeners:
        findings = [*_of_listener(endpoint, facts, start), *_slow(endpoint, facts)]
        part.findings += findings
        if endpoint.best is None:
            part.errors += endpoint.errors[:1]
        part.rows.append(_row(endpoint, findings))
    part.findings += [*_duplicates(facts), *_mixed(facts)]
    return part


def _slow(endpoint: CheckedEndpoint, facts: CheckFacts) -> Iterator[Finding]:
    """Find a broker that answers later than the others, by the ranks of its answers."""
    pings = facts.pings.get(-1 if endpoint.node_id is None else endpoint.node_id)
    if pings is None:
        return
    others = {
        f"broker {node_id}": each.took_ns
        for node_id, each in facts.pings.items()
        if node_id != endpoint.node_id
    }
    rest = [each for took_ns in others.values() for each in took_ns]
    if is_slow(pings.took_ns, rest, knows_path=pings.knows_path):
        yield found("KD4403", **slow_evidence(f"{endpoint.node_id}", pings.took_ns, others))


def _start(facts: CheckFacts) -> Reach:
    """Return the reach of the addresses by which the cluster was found."""
    visits = [visit for server in facts.servers for visit in server.visits if visit.metadata]
    return max((reach_of(each.address.ip) for each in visits), default=Reach.EVERYWHERE)


def _of_listener(endpoint: CheckedEndpoint, facts: CheckFacts, start: Reach) -> Iterator[Finding]:
    """Find the problems of one advertised address."""
    address, ips = str(endpoint), [each.ip for each in endpoint.lookup.addresses]
    ip = ips[0] if ips else None
    is_narrow = ip is None or reach_of(ip) < start
    special = where(endpoint.host, ip) if is_narrow else None
    if endpoint.best is None:
        yield _unusable(endpoint, special)
        return
    answer = endpoint.best.metadata
    assert facts.metadata is not None
    assert answer is not None
    if answer.cluster_id != facts.metadata.cluster_id:
        yield found(
            "KD1504",
            node_id=endpoint.node_id,
            address=address,
            other=answer.cluster_id,
            cluster=facts.metadata.cluster_id,
        )
    if special is not None:
        yield found("KD1502", node_id=endpoint.node_id, address=address, kind=special)
    if endpoint.errors:
        failed = [each.address.ip for each in endpoint.visits if each.error is not None]
        yield found("KD1103", address=address, ips=listed(failed))
    if endpoint.best.tls is not None:
        yield from expiring(address, endpoint.best.tls, facts.epoch_ns)


def _unusable(endpoint: CheckedEndpoint, special: str | None) -> Finding:
    """Return the finding that an advertised address is not usable from here."""
    error = endpoint.errors[0]
    if error.fault is Fault.SILENT and special is None:
        return of_hanging_broker(connection_finding(error), endpoint.node_id)
    finding = found(
        "KD1501",
        node_id=endpoint.node_id,
        address=str(endpoint),
        why=f"{error.why}; it is {special}" if special else error.why,
        layer=str(error.layer),
        cause=connection_finding(error).id,
    )
    if error.layer in _ADDRESS or not error.fix:
        return finding
    return msgspec.structs.replace(finding, fix=sentence(error.fix))


def _row(endpoint: CheckedEndpoint, findings: list[Finding]) -> CheckRow:
    """Return the row of a broker's advertised address."""
    best = endpoint.best
    shown = best or (endpoint.visits[0] if endpoint.visits else None)
    return CheckRow(
        stage=CheckStage.LISTENERS,
        status=CheckStatus.ERROR if best is None else status_of(findings),
        target=f"broker {endpoint.node_id} at {endpoint}",
        took_ns=_total_ns(endpoint, shown),
        detail=_failure(endpoint.errors[0]) if best is None else _steps(best),
        facts=_facts(endpoint, shown),
    )


def _total_ns(endpoint: CheckedEndpoint, visit: Visit | None) -> int:
    """Return the time from the lookup to the last step."""
    if visit is None:
        return endpoint.lookup.took_ns
    took_ns = sum(visit.took_ns.values()) + visit.failed_ns
    return took_ns + (endpoint.lookup.took_ns if endpoint.is_name else 0)


def _steps(visit: Visit) -> str:
    return ", ".join(f"{step} {_ms(took_ns):g} ms" for step, took_ns in visit.took_ns.items())


def _failure(error: ConnectError) -> str:
    return f"{error.layer}: {error.why}"


def _facts(endpoint: CheckedEndpoint, visit: Visit | None) -> dict[str, Any]:
    error = endpoint.errors[0] if endpoint.best is None else None
    versions = None if visit is None else visit.versions
    return {
        "node_id": endpoint.node_id,
        "host": endpoint.host,
        "port": endpoint.port,
        "addresses": [each.ip for each in endpoint.lookup.addresses],
        "reachable": endpoint.best is not None,
        "layer": error and error.layer,
        "fault": error and error.fault,
        "release": None if versions is None else newest_release(versions),
        "steps": {} if visit is None else {k: _ms(v) for k, v in visit.took_ns.items()},
    }


def _duplicates(facts: CheckFacts) -> Iterator[Finding]:
    """Find brokers that advertise the same address."""
    by_address: dict[str, list[int | None]] = defaultdict(list)
    for endpoint in facts.listeners:
        by_address[str(endpoint).lower()].append(endpoint.node_id)
    for address, nodes in by_address.items():
        if len(nodes) > 1:
            yield found("KD1503", nodes=listed(nodes), address=address)


def _mixed(facts: CheckFacts) -> list[Finding]:
    """Find brokers of different releases."""
    answers = {
        endpoint.node_id: endpoint.best.versions
        for endpoint in facts.listeners
        if endpoint.node_id is not None and endpoint.best and endpoint.best.versions
    }
    return [each for each in find_mixed(api_rows(answers)) if each.id == _MIXED]


def _ms(time_ns: int) -> float:
    return round(time_ns / NS_PER_MS, 2)
