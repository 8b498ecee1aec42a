"""The waits that requests allow: how long a broker may hold a response back on purpose.

    Fetch, ShareFetch   up to max_wait_ms, until there are min_bytes
    JoinGroup           up to the rebalance timeout, until all members have joined

A long latency is no fault of anybody as far as it was such a wait. The timeouts of other requests
(Produce, CreateTopics) are limits to work that brokers do at once, and do not count.

Source: Kafka's `DelayedFetch`, `DelayedShareFetch` and `DelayedJoin`.
"""

from typing import Final

from kdiag.clock import NS_PER_MS
from kdiag.exchange.dissection import Dissection
from kdiag.wire import api_keys

_FETCH_WAIT: Final = (("max_wait_ms", "maxWaitMs"),)
_WAITS: Final = {
    api_keys.FETCH: _FETCH_WAIT,
    api_keys.SHARE_FETCH: _FETCH_WAIT,
    # Version 0 has one timeout for both; the default of the other, -1, is less than it then.
    api_keys.JOIN_GROUP: (
        ("rebalance_timeout_ms", "rebalanceTimeoutMs"),
        ("session_timeout_ms", "sessionTimeoutMs"),
    ),
}
"""The fields of requests that tell the wait, as attribute and in JSON; the first one there is."""


def allowed_wait_ns(dissection: Dissection) -> int:
    """Return how long the broker was allowed to wait before it responded; 0 if it is not known."""
    api_key = dissection.exchange.api_key
    fields = None if api_key is None else _WAITS.get(api_key)
    side = None if fields is None else dissection.request
    if fields is None or side is None or side.message is None:
        return 0
    for name, json_name in fields:
        is_read = side.body is None or json_name in side.body
        wait_ms = getattr(side.message, name) if is_read else -1
        if wait_ms >= 0:
            return int(wait_ms) * NS_PER_MS
    return 0


def net_latency_ns(dissection: Dissection) -> int | None:
    """Return latency and transfer of a response, without the wait that its request allowed.

    None without a response.
    """
    exchange = dissection.exchange
    if exchange.transfer_ns is None:
        return None
    waited_ns = max(0, (exchange.latency_ns or 0) - allowed_wait_ns(dissection))
    return waited_ns + exchange.transfer_ns
