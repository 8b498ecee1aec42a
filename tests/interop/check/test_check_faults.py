"""Each fault that a client can have with a real broker, by its layer, finding and exit code."""

from collections.abc import Callable
from typing import Final

import pytest

from programs.json_run import said, settings, trusting
from real_kafka.secure_cluster import Listener, SecureCluster

pytestmark = pytest.mark.soak

Options = Callable[[SecureCluster, Callable[..., list[str]]], list[str]]
FAULTS: Final[dict[str, tuple[Listener, Options, str, str, int]]] = {
    "plaintext to a TLS port": (Listener.SSL, lambda *_: [], "TLS", "KD1401", 3),
    "TLS to a plaintext port": (
        Listener.PLAINTEXT,
        lambda cluster, _: trusting(cluster),
        "TLS",
        "KD1201",
        3,
    ),
    "plaintext SASL to a TLS port": (
        Listener.SASL_SSL,
        lambda _, log_in: log_in("alice", "PLAIN", "SASL_PLAINTEXT"),
        "TLS",
        "KD1401",
        3,
    ),
    "expired certificate": (
        Listener.EXPIRED,
        lambda cluster, _: trusting(cluster),
        "TLS",
        "KD1202",
        3,
    ),
    "wrong host name": (
        Listener.OTHER_HOST,
        lambda cluster, _: trusting(cluster),
        "TLS",
        "KD1203",
        3,
    ),
    "unknown issuer": (
        Listener.SSL,
        lambda *_: settings(security_protocol="SSL"),
        "TLS",
        "KD1204",
        3,
    ),
    "client certificate required": (
        Listener.MTLS,
        lambda cluster, _: trusting(cluster),
        "TLS",
        "KD1205",
        3,
    ),
    "wrong password (PLAIN)": (
        Listener.SASL_PLAINTEXT,
        lambda _, log_in: log_in("alice", "PLAIN", "SASL_PLAINTEXT", "wrong"),
        "SASL",
        "KD1301",
        4,
    ),
    "wrong password (SCRAM)": (
        Listener.SASL_PLAINTEXT,
        lambda _, log_in: log_in("alice", "SCRAM-SHA-512", "SASL_PLAINTEXT", "wrong"),
        "SASL",
        "KD1301",
        4,
    ),
    "mechanism not enabled": (
        Listener.SCRAM_ONLY,
        lambda _, log_in: log_in("alice", "PLAIN", "SASL_PLAINTEXT"),
        "SASL",
        "KD1302",
        4,
    ),
    "SASL to a port without": (
        Listener.PLAINTEXT,
        lambda _, log_in: log_in("alice", "PLAIN", "SASL_PLAINTEXT"),
        "SASL",
        "KD1303",
        4,
    ),
    "no SASL to a port with it": (
        Listener.SASL_PLAINTEXT,
        lambda *_: [],
        "Metadata",
        "KD1304",
        3,
    ),
}


@pytest.mark.parametrize("command", ["check", "check --quick", "find-coordinator orders"])
@pytest.mark.parametrize("fault", FAULTS)
def test_each_fault_of_a_client_has_its_layer_its_finding_and_its_exit_code(
    fault: str, command: str, secure: SecureCluster, log_in: Callable[..., list[str]]
) -> None:
    """And what is to be done about it, in less than three seconds."""
    listener, options, stage, finding, code = FAULTS[fault]

    done = said(command, secure.address(listener), *options(secure, log_in))

    is_sent = "(PLAIN)" in fault and command != "find-coordinator orders"
    assert (done.code, done.ids) == (code, [finding, *["KD1306"] * is_sent])
    assert done.document["findings"][0]["fix"]
    failed = [each for each in done.document["data"] if each["status"] == "error"]
    if command != "find-coordinator orders":
        assert [each["stage"] for each in failed] == [stage]
        assert failed[0]["took_ms"] is not None
