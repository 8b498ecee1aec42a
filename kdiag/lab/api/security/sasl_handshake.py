"""SaslHandshake: a client chooses how to prove who it is.

Behaviour: on a listener with SASL it is answered before this, by the channel's authenticator
(`kdiag.lab.security.sasl_server`). What comes here was sent on a listener without SASL, or by a
client that has proved who it is and renews that more often than once a second: ILLEGAL_SASL_STATE.

Version notes: 1 has tokens in SaslAuthenticate (KIP-152), 0 as frames without header.

Leaves out: nothing.
"""

from kdiag.lab.api.call import ApiCall
from kdiag.wire.api.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from kdiag.wire.error_code import CODE_BY_NAME


def handle(_: SaslHandshakeRequest, _call: ApiCall) -> SaslHandshakeResponse:
    """Refuse."""
    return SaslHandshakeResponse(error_code=CODE_BY_NAME["ILLEGAL_SASL_STATE"])
