"""Answers that pass: read only where something is to be changed in them.

    relayed_answer(call, frame, addresses)  ->  the frame, or another one, and what had no place

An answer that cannot be read passes as it is: what is written again is only what was read to its
last byte, with the tagged fields that nobody here knows.
"""

import logging
from typing import Final, NamedTuple

from kdiag.errors import ConnectError, DecodeError, EncodeError
from kdiag.lab.fault.answers.answer_edit import edit_answer
from kdiag.lab.fault.answers.told_addresses import TELLING
from kdiag.lab.fault.fault_plan import FaultPlan
from kdiag.lab.fault.rule import FaultMatch
from kdiag.lab.proxy.broker_addresses import BrokerAddresses, tells_topics
from kdiag.lab.proxy.proxy_link import RelayedCall
from kdiag.wire.codec.messages import decode, encode
from kdiag.wire.header import read_response_header, response_header_bytes
from kdiag.wire.schema import Struct

LOG: Final = logging.getLogger(__name__)


class RelayedAnswer(NamedTuple):
    """An answer as it goes to a client.

    Attributes:
        frame: its bytes.
        passed: the faults whose error had no place in it.
    """

    frame: bytes
    passed: list[FaultMatch]


def relayed_answer(call: RelayedCall, frame: bytes, addresses: BrokerAddresses) -> RelayedAnswer:
    """Return an answer of a broker as its client gets it."""
    api, header = call.request.api, call.request.header
    if api is None or header is None:
        return RelayedAnswer(frame, [])
    versions = TELLING.get(api.key)
    tells = versions is not None and versions.covers(header.version)
    is_planned = call.plan is not None and bool(call.plan.planned)
    if not tells and not is_planned:
        return RelayedAnswer(frame, [])
    try:
        start = read_response_header(frame, api.key, header.version).body_offset
        response = decode(api.response_class(), header.version, frame, start)
    except DecodeError as error:
        LOG.info("an answer to %s passes as it is: %s", api.name, error)
        return RelayedAnswer(frame, _errors(call.plan))
    if tells_topics(api.key):
        addresses.learn_topics(response)
    is_changed = _rewrite(addresses, response) if tells else False
    passed = edit_answer(call.plan, response) if call.plan is not None else []
    if not is_changed and not is_planned:
        return RelayedAnswer(frame, [])
    try:
        return RelayedAnswer(frame[:start] + encode(response, header.version), passed)
    except EncodeError as error:
        LOG.warning("an answer to %s cannot be changed so: %s", api.name, error)
        return RelayedAnswer(frame, _errors(call.plan))


def own_answer(call: RelayedCall, response: Struct) -> bytes:
    """Return the frame of an answer that no broker has given."""
    api, header = call.request.api, call.request.header
    assert api is not None
    assert header is not None
    head = response_header_bytes(api, header.version, header.correlation_id)
    return head + encode(response, header.version)


def _rewrite(addresses: BrokerAddresses, response: Struct) -> bool:
    try:
        return addresses.rewrite(response)
    except ConnectError as error:
        LOG.warning("a new broker gets no listener: %s", error)
        return True  # some may have theirs


def _errors(plan: FaultPlan | None) -> list[FaultMatch]:
    """Return the faults of a plan that have an error."""
    planned = () if plan is None else plan.planned
    return [each.match for each in planned if each.effect.error is not None]
