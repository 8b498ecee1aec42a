"""Lists delegation tokens by owner.

API key 41, versions 0-3, flexible from 2. Today's Kafka speaks 1-3 only.

Source: KIP-48, KIP-373 (v3).
"""

from typing import Annotated

from kdiag.wire.schema import Bytes, Int16, Int32, Int64, String, Struct, message, since


class DescribeDelegationTokenOwner(Struct):
    """One element of `owners` in DescribeDelegationTokenRequest."""

    principal_type: String = ""
    principal_name: String = ""


@message(api_key=41, versions="0-3", flexible="2+")
class DescribeDelegationTokenRequest(Struct):
    """The request of DescribeDelegationToken."""

    owners: list[DescribeDelegationTokenOwner] | None = []


class DescribedDelegationTokenRenewer(Struct):
    """One element of `renewers` in DescribedDelegationToken."""

    principal_type: String = ""
    principal_name: String = ""


class DescribedDelegationToken(Struct):
    """One element of `tokens` in DescribeDelegationTokenResponse."""

    principal_type: String = ""
    principal_name: String = ""
    token_requester_principal_type: Annotated[String, since("3+")] = ""
    token_requester_principal_name: Annotated[String, since("3+")] = ""
    issue_timestamp: Int64 = 0
    expiry_timestamp: Int64 = 0
    max_timestamp: Int64 = 0
    token_id: String = ""
    hmac: Bytes = b""
    renewers: list[DescribedDelegationTokenRenewer] = []


@message(api_key=41, versions="0-3", flexible="2+")
class DescribeDelegationTokenResponse(Struct):
    """The response of DescribeDelegationToken."""

    error_code: Int16 = 0
    tokens: list[DescribedDelegationToken] = []
    throttle_time_ms: Int32 = 0
