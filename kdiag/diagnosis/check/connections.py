"""The stages of a connection to the bootstrap servers: from DNS and TCP to Metadata."""

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from kdiag.diagnosis.broker_versions import newest_release
from kdiag.diagnosis.check.exposure import is_exposed
from kdiag.diagnosis.check.facts import CheckedEndpoint, CheckFacts, CheckStep, Visit
from kdiag.diagnosis.check.report import CheckPart, CheckRow, CheckStage, CheckStatus, listed
from kdiag.diagnosis.check.tls import expiring, tls_facts, tls_text
from kdiag.diagnosis.connection_finding import connection_finding
from kdiag.errors import ConnectError, Fault
from kdiag.findings.finding import Finding, found
from kdiag.findings.rule import Severity
from kdiag.wire.api.api_versions import ApiVersionsResponse
from kdiag.wire.api.metadata import MetadataResponse

_STAGES: Final = {
    CheckStep.TCP: CheckStage.TCP,
    CheckStep.TLS: CheckStage.TLS,
    CheckStep.SASL: CheckStage.SASL,
    CheckStep.API_VERSIONS: CheckStage.API_VERSIONS,
    CheckStep.METADATA: CheckStage.METADATA,
}

_UNFINISHED: Final = frozenset((Fault.DROPPED, Fault.SILENT))


def judge_servers(facts: CheckFacts) -> CheckPart:
    """Return a row for each step to each address of each bootstrap server, stage by stage.

    An unusable server is an error only if all are unusable: clients try the next one.
    """
    judged = _Servers(facts)
    rows = sorted(judged.rows(), key=lambda row: tuple(CheckStage).index(row.stage))
    return CheckPart(rows=rows, findings=judged.findings(), errors=judged.errors())


class _Servers:
    """The bootstrap servers: their rows, and the severity of a failure of one of them."""

    def __init__(self, facts: CheckFacts) -> None:
        self._facts = facts
        self._is_any_usable = facts.metadata is not None

    def rows(self) -> Iterator[CheckRow]:
        """Yield a row for each step, server by server."""
        if not any(endpoint.is_name for endpoint in self._facts.servers):
            yield CheckRow(stage=CheckStage.DNS, status=CheckStatus.OK, detail="no name to look up")
        for endpoint in self._facts.servers:
            yield from self._lookup_rows(endpoint)
            for visit in endpoint.visits:
                yield from self._visit_rows(visit)

    def errors(self) -> list[ConnectError]:
        """Return the errors that keep clients from the cluster; none if a server is usable."""
        if self._is_any_usable:
            return []
        return [error for endpoint in self._facts.servers for error in endpoint.errors[:1]]

    def findings(self) -> list[Finding]:
        """Return the problems of the servers."""
        findings: list[Finding] = []
        for endpoint in self._facts.servers:
            failures = [each for each in endpoint.errors if self._counts(each)]
            if failures and endpoint.best is None:
                finding = connection_finding(failures[0])
                findings.append(self._softened(finding))
            elif failures:
                ips = [each.address.ip for each in endpoint.visits if each.error is not None]
                findings.append(found("KD1103", address=str(endpoint), ips=listed(ips)))
            findings += _expiring(endpoint, self._facts.epoch_ns)
        return [*findings, *_other_clusters(self._facts)]

    def _counts(self, error: ConnectError) -> bool:
        """Return False for an error that only means that a quick check did not wait."""
        return not (self._facts.is_quick and self._is_any_usable and _is_unfinished(error))

    def _softened(self, finding: Finding) -> Finding:
        if not self._is_any_usable:
            return finding
        return msgspec.structs.replace(finding, severity=Severity.WARNING)

    def _lookup_rows(self, endpoint: CheckedEndpoint) -> Iterator[CheckRow]:
        lookup = endpoint.lookup
        if lookup.error is not None:
            yield CheckRow(
                stage=CheckStage.DNS,
                status=self._failed_status,
                target=endpoint.host,
                took_ns=lookup.took_ns,
                detail=lookup.error.why,
                facts={"addresses": []},
            )
        elif endpoint.is_name:
            ips = [each.ip for each in lookup.addresses]
            yield CheckRow(
                stage=CheckStage.DNS,
                status=CheckStatus.OK,
                target=endpoint.host,
                took_ns=lookup.took_ns,
                detail=", ".join(ips),
                facts={"addresses": ips},
            )

    def _visit_rows(self, visit: Visit) -> Iterator[CheckRow]:
        for step, took_ns in visit.took_ns.items():
            if step is visit.failed_step:
                continue  # it seemed to succeed until the peer refused (TLS 1.3)
            yield CheckRow(
                stage=_STAGES[step],
                status=self._succeeded_status(_STAGES[step]),
                target=visit.target,
                took_ns=took_ns,
                detail=_detail(step, visit, self._facts),
                facts=_facts(step, visit, self._facts),
            )
        step_failed = visit.failed_step
        if step_failed is not None and visit.error is not None and self._counts(visit.error):
            yield CheckRow(
                stage=_STAGES[step_failed],
                status=self._failed_status,
                target=visit.target,
                took_ns=visit.failed_ns,
                detail=visit.error.why,
                facts={"fault": visit.error.fault, **_facts(step_failed, visit, self._facts)},
            )

    def _succeeded_status(self, stage: CheckStage) -> CheckStatus:
        return CheckStatus.WARNING if is_exposed(stage, self._facts) else CheckStatus.OK

    @property
    def _failed_status(self) -> CheckStatus:
        return CheckStatus.WARNING if self._is_any_usable else CheckStatus.ERROR


def release_text(versions: ApiVersionsResponse) -> str:
    """Return the release of a broker and the number of its APIs, as text."""
    release = newest_release(versions)
    count = len(versions.api_keys)
    return f"{count} APIs" if release is None else f"Kafka {release}, {count} APIs"


def metadata_text(metadata: MetadataResponse) -> str:
    """Return the cluster id and the number of brokers, as text."""
    count = len(metadata.brokers)
    brokers = "1 broker" if count == 1 else f"{count} brokers"
    named = f"cluster {metadata.cluster_id}" if metadata.cluster_id else "a cluster without id"
    return f"{named}, {brokers}"


def _detail(step: CheckStep, visit: Visit, facts: CheckFacts) -> str:
    if step is CheckStep.TLS and visit.tls is not None:
        return tls_text(visit.tls, facts.epoch_ns)
    if step is CheckStep.SASL:
        return facts.login or ""
    if step is CheckStep.API_VERSIONS and visit.versions is not None:
        return release_text(visit.versions)
    if step is CheckStep.METADATA and visit.metadata is not None:
        return metadata_text(visit.metadata)
    return "connected"


def _facts(step: CheckStep, visit: Visit, facts: CheckFacts) -> dict[str, Any]:
    if step is CheckStep.TLS and visit.tls is not None:
        return {"tls": tls_facts(visit.tls, facts.epoch_ns)}
    if step is CheckStep.API_VERSIONS and visit.versions is not None:
        return {"release": newest_release(visit.versions)}
    if step is CheckStep.METADATA and visit.metadata is not None:
        brokers = [
            {"node_id": each.node_id, "host": each.host, "port": each.port, "rack": each.rack}
            for each in visit.metadata.brokers
        ]
        return {
            "cluster_id": visit.metadata.cluster_id,
            "controller_id": visit.metadata.controller_id,
            "brokers": brokers,
        }
    return {}


def _expiring(endpoint: CheckedEndpoint, epoch_ns: int) -> list[Finding]:
    """Return a finding if the certificate of a usable server expires soon."""
    tls = None if endpoint.best is None else endpoint.best.tls
    if tls is None:
        return []
    return expiring(str(endpoint), tls, epoch_ns)


def _other_clusters(facts: CheckFacts) -> Iterator[Finding]:
    """Find bootstrap servers of another cluster than the one that answered first."""
    for endpoint in facts.servers:
        answer = None if endpoint.best is None else endpoint.best.metadata
        if answer is None or facts.metadata is None:
            continue
        if answer.cluster_id == facts.metadata.cluster_id:
            continue
        yield found(
            "KD1505",
            address=str(endpoint),
            other=answer.cluster_id,
            cluster=facts.metadata.cluster_id,
        )


def _is_unfinished(error: ConnectError) -> bool:
    """Return whether an error only means that something has not ended yet."""
    return error.fault in _UNFINISHED
