"""Chooses the SASL mechanism before the client authenticates.

API key 17, versions 0-1, never flexible.

Source: KIP-43, KIP-152 (v1).
"""

from kdiag.wire.schema import Int16, String, Struct, message


@message(api_key=17, versions="0-1")
class SaslHandshakeRequest(Struct):
    """The request of SaslHandshake."""

    mechanism: String = ""


@message(api_key=17, versions="0-1")
class SaslHandshakeResponse(Struct):
    """The response of SaslHandshake."""

    error_code: Int16 = 0
    mechanisms: list[String] = []
