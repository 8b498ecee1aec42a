"""The options of `kdiag check`, and the plan that they and the client's configuration amount to."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from kdiag.client.config.load import ClientConfig
from kdiag.client.config.sasl import open_endpoint
from kdiag.clock import NS_PER_MS
from kdiag.diagnosis.check.facts import Exposure
from kdiag.findings.rule import Severity
from kdiag.probe.check.run import LIMIT_NS, CheckPlan

_SETUP_TIMEOUT: Final = "socket.connection.setup.timeout.ms"
_SENT_AS_THEY_ARE: Final = {"PLAIN": "password", "OAUTHBEARER": "token"}
"""What mechanisms send; the others prove that they know a secret."""
_SUBJECTS: Final = ("unsecuredLoginStringClaim_sub",)


class CheckOptions(NamedTuple):
    """The options of `kdiag check`.

    Attributes:
        topics: asked about by name.
        groups: whose coordinators to look for.
        is_quick: whether to end with the first answer.
        is_nagios: whether to print one status line instead.
        fail_on: the least severity of a finding that makes the exit code 1.
        has_headers: whether a table has a line of column names.
    """

    topics: Sequence[str]
    groups: Sequence[str]
    is_quick: bool
    is_nagios: bool
    fail_on: Severity
    has_headers: bool


def plan_of(options: CheckOptions, config: ClientConfig, timeout_ns: int | None) -> CheckPlan:
    """Return what is checked.

    Args:
        options: as they were given.
        config: of the client.
        timeout_ns: how long the whole command may take; None for ever.
    """
    return CheckPlan(
        topics=tuple(dict.fromkeys(options.topics)),
        groups=tuple(dict.fromkeys(options.groups)),
        session_timeout_ms=config.session_timeout_ms,
        is_quick=options.is_quick,
        limit_ns=_limit_ns(config, timeout_ns),
        has_tls=config.has_tls,
        login=login_text(config),
        exposure=exposure_of(config),
    )


def login_text(config: ClientConfig) -> str | None:
    """Return the mechanism and the user; None without SASL. It holds no secret."""
    sasl = config.sasl
    if sasl is None:
        return None
    if sasl.is_delegation_token:
        return f"{sasl.mechanism} with delegation token {sasl.username}"
    subject = next((sasl.unsecured[each] for each in _SUBJECTS if each in sasl.unsecured), None)
    user = sasl.username or subject
    return f"{sasl.mechanism} as {user}" if user else sasl.mechanism


def exposure_of(config: ClientConfig) -> Exposure:
    """Return what the configuration gives away when it logs in."""
    sasl = config.sasl
    return Exposure(
        config.tls.verifies_certificate,
        config.tls.verifies_hostname,
        "" if sasl is None else _SENT_AS_THEY_ARE.get(sasl.mechanism, ""),
        "" if sasl is None else open_endpoint(sasl),
    )


def _limit_ns(config: ClientConfig, timeout_ns: int | None) -> int:
    """Return how long one round of connections may take."""
    limit_ns = LIMIT_NS
    if config.values.setting(_SETUP_TIMEOUT) is not None:
        limit_ns = config.socket_connection_setup_timeout_ms * NS_PER_MS
    return limit_ns if timeout_ns is None else min(limit_ns, timeout_ns * 8 // 10)
