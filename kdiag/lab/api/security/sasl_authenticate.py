"""SaslAuthenticate: a token of a client that proves who it is.

Behaviour: on a listener with SASL it is answered before this, by the channel's authenticator
(`kdiag.lab.security.sasl_server`). What comes here was sent on a listener without SASL, or by a
client that has proved who it is already: ILLEGAL_SASL_STATE.

Version notes: 1 tells how long the session lasts (KIP-368); 2 is flexible.

Leaves out: nothing.
"""

from kdiag.lab.api.call import ApiCall
from kdiag.wire.api.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from kdiag.wire.error_code import CODE_BY_NAME


def handle(_: SaslAuthenticateRequest, _call: ApiCall) -> SaslAuthenticateResponse:
    """Refuse."""
    return SaslAuthenticateResponse(
        error_code=CODE_BY_NAME["ILLEGAL_SASL_STATE"],
        error_message="a token was sent where none is expected",
    )
