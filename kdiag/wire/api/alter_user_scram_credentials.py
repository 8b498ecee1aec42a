"""Adds, changes or deletes SCRAM credentials of users.

API key 51, version 0, flexible from 0.

Source: KIP-554.
"""

from kdiag.wire.schema import Bytes, Int8, Int16, Int32, String, Struct, message


class ScramCredentialDeletion(Struct):
    """One element of `deletions` in AlterUserScramCredentialsRequest."""

    name: String = ""
    mechanism: Int8 = 0


class ScramCredentialUpsertion(Struct):
    """One element of `upsertions` in AlterUserScramCredentialsRequest."""

    name: String = ""
    mechanism: Int8 = 0
    iterations: Int32 = 0
    salt: Bytes = b""
    salted_password: Bytes = b""


@message(api_key=51, versions="0", flexible="0+")
class AlterUserScramCredentialsRequest(Struct):
    """The request of AlterUserScramCredentials."""

    deletions: list[ScramCredentialDeletion] = []
    upsertions: list[ScramCredentialUpsertion] = []


class AlterUserScramCredentialsResult(Struct):
    """One element of `results` in AlterUserScramCredentialsResponse."""

    user: String = ""
    error_code: Int16 = 0
    error_message: String | None = ""


@message(api_key=51, versions="0", flexible="0+")
class AlterUserScramCredentialsResponse(Struct):
    """The response of AlterUserScramCredentials."""

    throttle_time_ms: Int32 = 0
    results: list[AlterUserScramCredentialsResult] = []
