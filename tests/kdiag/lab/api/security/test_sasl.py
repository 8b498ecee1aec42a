"""A listener without SASL refuses it."""

import pytest

from kdiag.wire.api.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from kdiag.wire.api.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from kdiag.wire.error_code import error_name
from lab_ends.lab_client import LabClient


@pytest.mark.parametrize("version", range(2))
def test_a_listener_without_sasl_wants_none(client: LabClient, version: int) -> None:
    """ILLEGAL_SASL_STATE, and the connection stays."""
    request = SaslHandshakeRequest(mechanism="PLAIN")
    for _ in range(2):
        response = client.ask(request, SaslHandshakeResponse, version)
        assert error_name(response.error_code) == "ILLEGAL_SASL_STATE"


@pytest.mark.parametrize("version", range(3))
def test_a_listener_without_sasl_wants_no_token(client: LabClient, version: int) -> None:
    """ILLEGAL_SASL_STATE, and the connection stays."""
    for _ in range(2):
        response = client.ask(SaslAuthenticateRequest(), SaslAuthenticateResponse, version)
        assert error_name(response.error_code) == "ILLEGAL_SASL_STATE"
