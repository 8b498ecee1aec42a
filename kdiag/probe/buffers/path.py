"""Reads the facts of the paths to all brokers: round trips, and buffer settings at both ends.

    look_at_paths         round trips, socket facts and settings of all brokers
    describe_brokers      the buffer settings of brokers
    read_kernel_limits    the buffer limits of this machine's kernel

Brokers are asked at the same time. One that cannot be reached, or refuses to describe its
configuration, does not affect the others.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from statistics import median
from typing import Final

from kdiag.client.cluster_client import Answer, ClusterClient
from kdiag.diagnosis.buffers.facts import BrokerConfig, BrokerPath, KernelLimits
from kdiag.wire.api.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kdiag.wire.api.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResponse,
)
from kdiag.wire.error_code import error_name

_SAMPLES: Final = 10
_BROKER: Final = 4
_SMALLEST: Final = 0
_SEND: Final = "socket.send.buffer.bytes"
_RECEIVE: Final = "socket.receive.buffer.bytes"
_MESSAGE: Final = "message.max.bytes"
_SYSCTLS: Final = Path("/proc/sys/net")
_SYSCTL_SIZES: Final = 3


def look_at_paths(client: ClusterClient, rtt_ns: int | None = None) -> list[BrokerPath]:
    """Return the paths to all brokers of the cluster, by ascending id.

    Args:
        client: connected.
        rtt_ns: the round trip to assume; None for the measured one.
    """
    errors = client.reach_all()
    reached = [node_id for node_id, error in errors.items() if error is None]
    times_ns: dict[int, list[int]] = {node_id: [] for node_id in reached}
    for _ in range(_SAMPLES):
        for node_id, answer in _ask(client, reached).items():
            if answer.rtt_ns is not None:
                times_ns[node_id].append(answer.rtt_ns)
    configs = describe_brokers(client, reached)
    paths = {each: _path(client, each, rtt_ns, times_ns.get(each, [])) for each in errors}
    return [
        path._replace(config=configs.get(node_id, BrokerConfig()), error=errors[node_id])
        for node_id, path in paths.items()
    ]


def describe_brokers(client: ClusterClient, node_ids: Iterable[int]) -> dict[int, BrokerConfig]:
    """Return the settings of brokers; each is asked for its own alone."""
    keys = [_SEND, _RECEIVE, _MESSAGE]
    questions = {
        node_id: DescribeConfigsRequest([DescribeConfigsResource(_BROKER, str(node_id), keys)])
        for node_id in node_ids
    }
    answers = client.ask_all(questions, DescribeConfigsResponse)
    return {node_id: _config(answer) for node_id, answer in answers.items()}


def read_kernel_limits(sysctls: Path = _SYSCTLS) -> KernelLimits:
    """Return the limits of this machine's kernel; None for those that it does not show.

    Args:
        sysctls: the folder in which the kernel shows `net.*`.
    """
    return KernelLimits(
        wmem_max=_first(_numbers(sysctls / "core/wmem_max")),
        rmem_max=_first(_numbers(sysctls / "core/rmem_max")),
        tcp_wmem=_triple(_numbers(sysctls / "ipv4/tcp_wmem")),
        tcp_rmem=_triple(_numbers(sysctls / "ipv4/tcp_rmem")),
    )


def _ask(client: ClusterClient, node_ids: Iterable[int]) -> dict[int, Answer[ApiVersionsResponse]]:
    questions = dict.fromkeys(node_ids, ApiVersionsRequest())
    return client.ask_all(questions, ApiVersionsResponse, version=_SMALLEST)


def _path(
    client: ClusterClient, node_id: int, rtt_ns: int | None, times_ns: list[int]
) -> BrokerPath:
    facts = client.socket_facts(node_id)
    least_ns = min(times_ns, default=None)
    measured_ns = None if facts is None else facts.min_rtt_ns
    return BrokerPath(
        node_id=node_id,
        address=client.node(node_id).endpoint,
        rtt_ns=rtt_ns or measured_ns or least_ns,
        request_rtt_ns=round(median(times_ns)) if times_ns else None,
        least_request_rtt_ns=least_ns,
        facts=facts,
    )


def _config(answer: Answer[DescribeConfigsResponse]) -> BrokerConfig:
    if answer.body is None:
        return BrokerConfig(why_unknown=str(answer.error))
    for result in answer.body.results:
        if result.error_code:
            return BrokerConfig(why_unknown=error_name(result.error_code))
        values = {each.name: each.value for each in result.configs}
        return BrokerConfig(
            send_buffer_bytes=_number(values, _SEND),
            receive_buffer_bytes=_number(values, _RECEIVE),
            message_max_bytes=_number(values, _MESSAGE),
        )
    return BrokerConfig(why_unknown="the answer is empty")


def _number(values: Mapping[str, str | None], key: str) -> int | None:
    """Return a setting as a number; None if it is missing or not a number."""
    try:
        return int(values.get(key) or "")
    except ValueError:
        return None


def _numbers(file: Path) -> list[int]:
    """Return the numbers in a file; none if it cannot be read, as everywhere but on Linux."""
    try:
        return [int(word) for word in file.read_text(encoding="ascii").split()]
    except (OSError, ValueError):
        return []


def _first(numbers: list[int]) -> int | None:
    return numbers[0] if len(numbers) == 1 else None


def _triple(numbers: list[int]) -> tuple[int, int, int] | None:
    return (numbers[0], numbers[1], numbers[2]) if len(numbers) == _SYSCTL_SIZES else None
