"""Responses of which nobody knows the request: the secrets in them, whatever they are.

A response does not name its API. Trial decoding finds what it may be; the secrets of all that it
may be are masked. A frame that is no response of any API, as a token of SASL, may be a secret as a
whole.
"""

from functools import cache
from typing import Final

from kdiag.exchange.model import Exchange, Status
from kdiag.exchange.secrets.masking import Mask, frame_masks
from kdiag.exchange.secrets.redaction import has_secrets
from kdiag.pcap.kafka.trial_decoding import (
    RequestKind,
    decodes_as_response,
    is_whole_response,
)
from kdiag.wire import api_keys
from kdiag.wire.catalog import API_BY_KEY
from kdiag.wire.frame import Frame

_MOST: Final = 2_000
"""So many responses are tried; a capture of one direction may have millions."""


class UnnamedResponses:
    """Finds the secrets in responses to requests that nobody saw."""

    def __init__(self) -> None:
        """Begin with the first one."""
        self._tried = 0

    def masks(self, exchange: Exchange, frame: Frame) -> list[Mask] | None:
        """Return what overwrites the secrets in a frame.

        Returns:
            None if it is not such a response, or nothing tells what it is.
        """
        if exchange.pairing is not Status.UNMATCHED or exchange.version is not None:
            return None
        if not frame.is_whole or self._tried >= _MOST:
            return None
        self._tried += 1
        harmless, secret = _kinds()
        likely = [kind for kind in harmless + secret if is_whole_response(frame.data, kind)]
        if not likely:
            return None
        # Of what is secret also that counts which no sane broker sends.
        kinds = dict.fromkeys(
            likely + [kind for kind in secret if decodes_as_response(frame.data, kind)]
        )
        return [
            mask
            for kind in kinds
            for mask in frame_masks(_named(exchange, kind), frame, is_response=True)
        ]


@cache
def _kinds() -> tuple[list[RequestKind], list[RequestKind]]:
    """Return the kinds of requests whose responses hold no secrets, and those whose may."""
    harmless: list[RequestKind] = []
    secret: list[RequestKind] = []
    for key, api in sorted(API_BY_KEY.items()):
        kinds = secret if has_secrets(key) or key == api_keys.ENVELOPE else harmless
        kinds += ((key, version) for version in range(api.versions.low, api.versions.high + 1))
    return harmless, secret


def _named(exchange: Exchange, kind: RequestKind) -> Exchange:
    """Return the exchange as if its request had been seen."""
    api_key, version = kind
    return Exchange(
        number=exchange.number,
        connection=exchange.connection,
        api_key=api_key,
        version=version,
        correlation_id=exchange.correlation_id,
        client_id=None,
        request=None,
        response=exchange.response,
    )
