"""The SASL conversation: a client's requests over Kafka's protocol, apart from how they travel.

    ApiVersions v0            which versions of the next two the broker speaks
    SaslHandshake             the mechanism; a refusal lists those that are enabled
    SaslAuthenticate          a token of the client, answered by one of the broker; repeated

A broker that knows only version 0 of SaslHandshake is sent tokens as bare frames, without header.
ApiVersions is sent in version 0, as by Kafka's own client: a broker may mistake a request that it
cannot read here for a token of GSSAPI. A re-authentication skips it (KIP-368).

A conversation is a generator: it yields requests, is sent the frames that answer them, and returns
how long the session lasts.

Source: KIP-43, KIP-152, KIP-255, KIP-368; Kafka's `SaslClientAuthenticator`.
"""

from collections.abc import Generator
from typing import Final, NamedTuple, TypeVar

from kdiag.errors import DecodeError, Fault
from kdiag.net.sasl.mechanism import SaslError, SaslMechanism, shortened
from kdiag.wire import api_keys
from kdiag.wire.api.api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse
from kdiag.wire.api.request_header import RequestHeader
from kdiag.wire.api.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from kdiag.wire.api.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from kdiag.wire.catalog import API_BY_KEY
from kdiag.wire.client_release import ClientRelease, spoken_versions
from kdiag.wire.codec.messages import decode, encode
from kdiag.wire.error_code import CODE_BY_NAME, ERROR_BY_CODE, error_name
from kdiag.wire.header import RESERVED_FOR_SASL, read_response_header
from kdiag.wire.schema import Struct, info_of

_NONE: Final = 0
_UNSUPPORTED_VERSION: Final = CODE_BY_NAME["UNSUPPORTED_VERSION"]
_UNSUPPORTED_MECHANISM: Final = CODE_BY_NAME["UNSUPPORTED_SASL_MECHANISM"]
_ILLEGAL_STATE: Final = CODE_BY_NAME["ILLEGAL_SASL_STATE"]
_AUTHENTICATION_FAILED: Final = CODE_BY_NAME["SASL_AUTHENTICATION_FAILED"]

NO_KAFKA: Final = "Check that the address is that of a Kafka listener"
BROKER_LOG: Final = "Look into the broker's log for this connection"

R = TypeVar("R", bound=Struct)


class SaslRequest(NamedTuple):
    """A frame for the broker.

    Attributes:
        data: the frame, without its length.
        api_key: None for a token without header, as are the next two.
        version: of the request.
        correlation_id: repeated by the response.
    """

    data: bytes
    api_key: int | None = None
    version: int | None = None
    correlation_id: int | None = None

    def __repr__(self) -> str:
        return f"<SaslRequest to API {self.api_key}, {len(self.data)} bytes>"


class _Versions(NamedTuple):
    """The versions to use; no `authenticate` means tokens without header."""

    handshake: int
    authenticate: int | None


class SaslConversation:
    """All requests of a client on one connection: at first, and in each re-authentication."""

    def __init__(
        self,
        mechanism: SaslMechanism,
        client_id: str | None,
        release: ClientRelease | None = None,
    ) -> None:
        self._mechanism = mechanism
        self._client_id = client_id
        self._release = release
        self._versions: _Versions | None = None
        self._next_correlation_id = RESERVED_FOR_SASL[0]

    def requests(self) -> Generator[SaslRequest, bytes, int]:
        """Return a new conversation; it returns the session's lifetime in milliseconds, 0 is none.

        Raises:
            SaslError: while it runs, if either end refuses, or a response cannot be read.
        """
        is_renewal = self._versions is not None
        if self._versions is None:
            self._versions = yield from self._ask_versions()
        response = yield from self._shake_hands(self._versions.handshake)
        if response.error_code != _NONE:
            raise self._refused_handshake(response, is_renewal=is_renewal)
        return (yield from self._prove(self._versions.authenticate))

    def _prove(self, version: int | None) -> Generator[SaslRequest, bytes, int]:
        """Send the mechanism's tokens and return the session's lifetime."""
        lifetime_ms = 0
        tokens = self._mechanism.tokens()
        token = next(tokens, None)
        while token is not None:
            if version is None:
                answer = yield SaslRequest(token)
            else:
                response = yield from self._authenticate(token, version)
                answer, lifetime_ms = response.auth_bytes, response.session_lifetime_ms
            try:
                token = tokens.send(answer)
            except StopIteration:
                token = None
        return lifetime_ms

    def _ask_versions(self) -> Generator[SaslRequest, bytes, _Versions]:
        """Ask for the broker's versions, a second time if it lacks the version of the request."""
        response = yield from self._ask(ApiVersionsRequest(), 0, ApiVersionsResponse)
        offered = {each.api_key: each for each in response.api_keys}
        if response.error_code == _UNSUPPORTED_VERSION and api_keys.API_VERSIONS in offered:
            version = max(0, self._newest(offered[api_keys.API_VERSIONS]))
            response = yield from self._ask(ApiVersionsRequest(), version, ApiVersionsResponse)
            offered = {each.api_key: each for each in response.api_keys}
        if response.error_code != _NONE:
            raise SaslError(
                f"ApiVersions was answered by {_meaning(response.error_code)}", NO_KAFKA
            )
        if api_keys.SASL_HANDSHAKE not in offered:
            raise SaslError(
                "the broker does not offer SaslHandshake, so it has no SASL",
                NO_KAFKA,
                Fault.NOT_SASL,
            )
        if (
            api_keys.SASL_AUTHENTICATE not in offered
            or self._newest(offered[api_keys.SASL_HANDSHAKE]) < 1
        ):
            return _Versions(0, None)
        return _Versions(1, max(0, self._newest(offered[api_keys.SASL_AUTHENTICATE])))

    def _newest(self, offered: ApiVersion) -> int:
        """Return the newest version of an API that the broker offers and the client knows."""
        known = spoken_versions(API_BY_KEY[offered.api_key], self._release)
        return min(known.high, offered.max_version)

    def _shake_hands(self, version: int) -> Generator[SaslRequest, bytes, SaslHandshakeResponse]:
        """Choose the mechanism."""
        request = SaslHandshakeRequest(mechanism=self._mechanism.name)
        return self._ask(request, version, SaslHandshakeResponse)

    def _refused_handshake(self, response: SaslHandshakeResponse, *, is_renewal: bool) -> SaslError:
        """Return the error for a broker that refuses the mechanism."""
        enabled = shortened(", ".join(response.mechanisms) or "none")
        if response.error_code == _UNSUPPORTED_MECHANISM:
            return SaslError(
                f"{self._mechanism.name} is not enabled on this listener; enabled: {enabled}",
                "Set sasl.mechanism to one that is enabled, or enable it on the broker",
                Fault.MECHANISM_NOT_ENABLED,
            )
        if response.error_code == _ILLEGAL_STATE and not is_renewal:
            return SaslError(
                "the listener wants no SASL (ILLEGAL_SASL_STATE): it is one for PLAINTEXT or SSL",
                "Use security.protocol PLAINTEXT or SSL, or the port of a listener with SASL",
                Fault.NOT_SASL,
            )
        return SaslError(
            f"SaslHandshake was answered by {_meaning(response.error_code)} Enabled: {enabled}",
            BROKER_LOG,
        )

    def _authenticate(
        self, token: bytes, version: int
    ) -> Generator[SaslRequest, bytes, SaslAuthenticateResponse]:
        """Send a token and return the response of a broker that has not refused."""
        request = SaslAuthenticateRequest(auth_bytes=token)
        response = yield from self._ask(request, version, SaslAuthenticateResponse)
        message = response.error_message or ""
        if response.error_code == _AUTHENTICATION_FAILED:
            raise SaslError(*self._mechanism.explain(message or _meaning(response.error_code)))
        if response.error_code != _NONE:
            raise SaslError(
                f"{self._mechanism.name} was answered by {_meaning(response.error_code)}"
                f" {shortened(message)}".rstrip(),
                BROKER_LOG,
            )
        return response

    def _ask(
        self, request: Struct, version: int, answer: type[R]
    ) -> Generator[SaslRequest, bytes, R]:
        """Send a request and return the response."""
        api_key = info_of(answer).api_key
        assert api_key is not None
        api = API_BY_KEY[api_key]
        header = RequestHeader(
            request_api_key=api.key,
            request_api_version=version,
            correlation_id=self._correlation_id(),
            client_id=self._client_id,
        )
        data = encode(header, api.request_header_version(version)) + encode(request, version)
        frame = yield SaslRequest(data, api.key, version, header.correlation_id)
        try:
            start = read_response_header(frame, api.key, version).body_offset
            return decode(answer, version, frame, start)
        except DecodeError as error:
            raise SaslError(
                f"the answer to {api.name} version {version} cannot be read: {error}",
                NO_KAFKA,
                Fault.BROKEN_PROTOCOL,
            ) from None

    def _correlation_id(self) -> int:
        """Return the next reserved correlation id; after the last comes the first."""
        correlation_id = self._next_correlation_id
        following = correlation_id + 1
        is_left = following in RESERVED_FOR_SASL
        self._next_correlation_id = following if is_left else RESERVED_FOR_SASL[0]
        return correlation_id


def _meaning(code: int) -> str:
    """Return the name of an error and its meaning."""
    error = ERROR_BY_CODE.get(code)
    return error_name(code) if error is None else f"{error.name}: {error.meaning}"
