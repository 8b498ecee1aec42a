"""Issues a delegation token, with which others authenticate in its owner's name.

API key 38, versions 0-3, flexible from 2. Today's Kafka speaks 1-3 only.

Source: KIP-48, KIP-373 (v3).
"""

from typing import Annotated

from kdiag.wire.schema import Bytes, Int16, Int32, Int64, String, Struct, message, since


class CreatableRenewers(Struct):
    """One element of `renewers` in CreateDelegationTokenRequest."""

    principal_type: String = ""
    principal_name: String = ""


@message(api_key=38, versions="0-3", flexible="2+")
class CreateDelegationTokenRequest(Struct):
    """The request of CreateDelegationToken."""

    owner_principal_type: Annotated[String | None, since("3+")] = ""
    owner_principal_name: Annotated[String | None, since("3+")] = ""
    renewers: list[CreatableRenewers] = []
    max_lifetime_ms: Int64 = 0


@message(api_key=38, versions="0-3", flexible="2+")
class CreateDelegationTokenResponse(Struct):
    """The response of CreateDelegationToken."""

    error_code: Int16 = 0
    principal_type: String = ""
    principal_name: String = ""
    token_requester_principal_type: Annotated[String, since("3+")] = ""
    token_requester_principal_name: Annotated[String, since("3+")] = ""
    issue_timestamp_ms: Int64 = 0
    expiry_timestamp_ms: Int64 = 0
    max_timestamp_ms: Int64 = 0
    token_id: String = ""
    hmac: Bytes = b""
    throttle_time_ms: Int32 = 0
