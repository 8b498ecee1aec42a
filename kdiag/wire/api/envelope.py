"""A broker forwards a client's request, with its principal, to the controller.

API key 58, version 0, flexible from 0.

Source: KIP-590.
"""

from kdiag.wire.schema import Bytes, Int16, Struct, message


@message(api_key=58, versions="0", flexible="0+")
class EnvelopeRequest(Struct):
    """The request of Envelope."""

    request_data: Bytes = b""
    request_principal: Bytes | None = b""
    client_host_address: Bytes = b""


@message(api_key=58, versions="0", flexible="0+")
class EnvelopeResponse(Struct):
    """The response of Envelope."""

    response_data: Bytes | None = None
    error_code: Int16 = 0
