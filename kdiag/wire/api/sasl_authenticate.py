"""Carries the tokens of SASL authentication after the mechanism was chosen.

API key 36, versions 0-2, flexible from 2.

Source: KIP-152, KIP-368 (v1 reauthentication).
"""

from typing import Annotated

from kdiag.wire.schema import Bytes, Int16, Int64, String, Struct, ignorable, message, since


@message(api_key=36, versions="0-2", flexible="2+")
class SaslAuthenticateRequest(Struct):
    """The request of SaslAuthenticate."""

    auth_bytes: Bytes = b""


@message(api_key=36, versions="0-2", flexible="2+")
class SaslAuthenticateResponse(Struct):
    """The response of SaslAuthenticate."""

    error_code: Int16 = 0
    error_message: String | None = ""
    auth_bytes: Bytes = b""
    session_lifetime_ms: Annotated[Int64, since("1+"), ignorable] = 0
