"""Tokens of an identity provider: OAuth's client credentials, asked for as Kafka's clients do.

    POST https://idp.example.com/oauth2/token
    Authorization: Basic BASE64(CLIENT-ID:CLIENT-SECRET)

    grant_type=client_credentials&scope=kafka

    HTTP/1.1 200 OK

    {"access_token": "eyJ...", "token_type": "Bearer", "expires_in": 3600}

A redirection is not followed: the secret would go to whomever it names.

Source: RFC 6749 sections 4.4 and 5; KIP-768 and KIP-1139 (Kafka's `HttpJwtRetriever`).
"""

import ssl
from base64 import b64encode
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import urlencode, urlsplit

import msgspec

from kdiag.clock import NS_PER_S, Clock
from kdiag.net.sasl.mechanism import SaslError, shortened
from kdiag.net.sasl.tokens import MAX_TOKEN_BYTES, REUSE_MARGIN_NS, checked_token, expiry_ns

if TYPE_CHECKING:
    from urllib.error import HTTPError, URLError
    from urllib.request import OpenerDirector

_ENDPOINT: Final = "sasl.oauthbearer.token.endpoint.url"
_SCHEMES: Final = ("https", "http")
_REDIRECTIONS: Final = range(300, 400)
_REFUSALS: Final = range(400, 500)
_MAX_LIFETIME_S: Final = 10 * 366 * 86_400


class ClientCredentials(NamedTuple):
    """What an identity provider gives a token for.

    Attributes:
        url: of its token endpoint.
        client_id: of the client.
        client_secret: of the client.
        scope: the wanted one; empty for the provider's default.
        ca_file: a PEM file with the certificates to trust; empty for those of the system.
    """

    url: str
    client_id: str
    client_secret: str
    scope: str = ""
    ca_file: str = ""

    def __repr__(self) -> str:
        return f"<ClientCredentials of {self.client_id!r} at {self.place}>"

    @property
    def place(self) -> str:
        """Return the address of the endpoint without what may be secret in it."""
        parts = urlsplit(self.url)
        port = "" if parts.port is None else f":{parts.port}"
        return f"{parts.scheme}://{parts.hostname or ''}{port}{parts.path}"


class ProviderToken:
    """A token of an identity provider, which is used again until a minute before it expires.

    Waiting for the provider blocks. Proxies are those of the environment.
    """

    def __init__(self, credentials: ClientCredentials, timeout_ns: int, clock: Clock) -> None:
        """Keep the credentials.

        Args:
            credentials: of the client.
            timeout_ns: how long the provider may be silent.
            clock: decides whether a token has expired.

        Raises:
            ValueError: if the endpoint is not an address of HTTP.
        """
        parts = urlsplit(credentials.url)
        if parts.scheme not in _SCHEMES or not parts.hostname:
            raise ValueError("expected the address of a token endpoint, such as https://HOST/token")
        self._credentials = credentials
        self._timeout_ns = timeout_ns
        self._clock = clock
        self._kept = ""
        self._expires_ns: int | None = None

    def __repr__(self) -> str:
        return f"<ProviderToken with {self._credentials!r}>"

    def token(self) -> str:
        """Return the last token while it is fresh, otherwise ask for one."""
        now_ns = self._clock.epoch_ns()
        if self._expires_ns is None or now_ns > self._expires_ns - REUSE_MARGIN_NS:
            answer = self._read(self._ask())
            token = answer.get("access_token", answer.get("id_token"))
            if not isinstance(token, str):
                names = shortened(", ".join(answer) or "nothing")
                raise self._error(f"answered without access_token, but with {names}", _ANSWER_FIX)
            self._kept = checked_token(token, f"the access_token of {self._credentials.place}")
            self._expires_ns = expiry_ns(token) or _end_ns(answer.get("expires_in"), now_ns)
        return self._kept

    def _ask(self) -> bytes:
        """Return the body of the provider's answer."""
        from urllib.error import HTTPError, URLError  # noqa: PLC0415 - 30 ms, with ssl and email
        from urllib.request import Request  # noqa: PLC0415 - as above

        credentials = self._credentials
        asked = {"grant_type": "client_credentials"}
        if credentials.scope:
            asked["scope"] = credentials.scope
        pair = f"{credentials.client_id}:{credentials.client_secret}"
        parts = urlsplit(credentials.url)
        host = parts.netloc.rpartition("@")[2]
        request = Request(  # noqa: S310 - the scheme is one of HTTP
            parts._replace(netloc=host, fragment="").geturl(),
            urlencode(asked).encode(),
            {
                "Accept": "application/json",
                "Authorization": f"Basic {b64encode(pair.encode()).decode()}",
                "Cache-Control": "no-cache",
                "Content-Type": "application/x-www-form-urlencoded",
            },
        )
        opener = self._opener()
        try:
            with opener.open(request, timeout=self._timeout_ns / NS_PER_S) as answer:
                body: bytes = answer.read(2 * MAX_TOKEN_BYTES)
        except HTTPError as error:
            with error:
                raise self._refusal(error) from None
        except (URLError, TimeoutError) as error:
            raise self._unreachable(error) from None
        except OSError as error:
            raise self._error(f"broke off: {error}", _PLACE_FIX) from None
        return body

    def _opener(self) -> "OpenerDirector":
        """Return what speaks HTTP, and follows no redirection."""
        from urllib.request import (  # noqa: PLC0415 - as above
            HTTPRedirectHandler,
            HTTPSHandler,
            build_opener,
        )

        class NoRedirection(HTTPRedirectHandler):
            def redirect_request(self, *_: Any) -> None:
                """Follow none."""

        try:
            context = ssl.create_default_context(cafile=self._credentials.ca_file or None)
        except OSError as error:
            why = error.strerror or str(error)
            raise SaslError(
                f"https.ca.location {self._credentials.ca_file}: {why}", _CA_FIX
            ) from None
        # Since 3.13 Python is stricter by default than Java, curl and the contexts for brokers.
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
        return build_opener(NoRedirection, HTTPSHandler(context=context))

    def _read(self, body: bytes) -> dict[str, Any]:
        """Return the fields of an answer."""
        try:
            fields = msgspec.json.decode(body)
        except (msgspec.DecodeError, RecursionError, ValueError):
            fields = None
        if not isinstance(fields, dict):
            raise self._error("answered with something that is no JSON object", _ANSWER_FIX)
        return fields

    def _refusal(self, error: "HTTPError") -> SaslError:
        """Return the error of an answer that is none of success."""
        if error.code in _REDIRECTIONS:
            where = shortened(error.headers.get("Location", "nowhere"))
            return self._error(f"answered with HTTP {error.code}: go to {where}", _ANSWER_FIX)
        try:
            fields = self._read(error.read(MAX_TOKEN_BYTES))
        except (SaslError, OSError):
            fields = {}
        told = [str(fields[name]) for name in ("error", "error_description") if fields.get(name)]
        why = f" ({shortened(': '.join(told))})" if told else ""
        fix = _CREDENTIALS_FIX if error.code in _REFUSALS else _PLACE_FIX
        return self._error(f"answered with HTTP {error.code}{why}", fix)

    def _unreachable(self, error: "URLError | TimeoutError") -> SaslError:
        """Return the error of a provider that gave no answer."""
        reason = getattr(error, "reason", error)
        if isinstance(reason, TimeoutError):
            return self._error(f"did not answer in {self._timeout_ns / NS_PER_S:g} s", _PLACE_FIX)
        if isinstance(reason, ssl.SSLCertVerificationError):
            return self._error(f"has no valid certificate: {reason.verify_message}", _CA_FIX)
        why = getattr(reason, "strerror", None) or str(reason)
        return self._error(f"cannot be reached: {why}", _PLACE_FIX)

    def _error(self, what: str, fix: str) -> SaslError:
        return SaslError(f"the identity provider {self._credentials.place} {what}", fix)


_ANSWER_FIX: Final = f"Give the address of the token endpoint itself in {_ENDPOINT}"
_PLACE_FIX: Final = f"See whether {_ENDPOINT} is right and can be reached from here"
_CA_FIX: Final = "Name a PEM file with the provider's authority in https.ca.location"
_CREDENTIALS_FIX: Final = "Compare client id, secret and scope with what the provider knows"


def _end_ns(lifetime_s: object, now_ns: int) -> int | None:
    """Return when a token expires, since 1970, by `expires_in`; None if that says nothing."""
    if isinstance(lifetime_s, bool) or not isinstance(lifetime_s, int | float):
        return None
    if not 0 < lifetime_s < _MAX_LIFETIME_S:
        return None
    return now_ns + int(lifetime_s * NS_PER_S)
