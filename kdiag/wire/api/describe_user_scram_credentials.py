"""Tells which SCRAM mechanisms and iteration counts users have credentials for.

API key 50, version 0, flexible from 0.

Source: KIP-554.
"""

from kdiag.wire.schema import Int8, Int16, Int32, String, Struct, message


class UserName(Struct):
    """One element of `users` in DescribeUserScramCredentialsRequest."""

    name: String = ""


@message(api_key=50, versions="0", flexible="0+")
class DescribeUserScramCredentialsRequest(Struct):
    """The request of DescribeUserScramCredentials."""

    users: list[UserName] | None = []


class CredentialInfo(Struct):
    """One element of `credential_infos` in DescribeUserScramCredentialsResult."""

    mechanism: Int8 = 0
    iterations: Int32 = 0


class DescribeUserScramCredentialsResult(Struct):
    """One element of `results` in DescribeUserScramCredentialsResponse."""

    user: String = ""
    error_code: Int16 = 0
    error_message: String | None = ""
    credential_infos: list[CredentialInfo] = []


@message(api_key=50, versions="0", flexible="0+")
class DescribeUserScramCredentialsResponse(Struct):
    """The response of DescribeUserScramCredentials."""

    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    error_message: String | None = ""
    results: list[DescribeUserScramCredentialsResult] = []
