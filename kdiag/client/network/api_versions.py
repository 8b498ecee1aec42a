"""Version negotiation: which versions each node speaks, and which one a request is sent in.

    new connection      ApiVersions v4
    an older broker     UNSUPPORTED_VERSION, in version 0; since Kafka 2.4 with the versions it has
    then                ApiVersions again, in the newest of those, or else in version 0
    a request           the newest version that the request allows, and node and kdiag know

Who speaks as the clients of a Kafka release uses no version that these do not know.

Source: Kafka's `NetworkClient.handleApiVersionsResponse`; KIP-35, KIP-511.
"""

from typing import Final

from kdiag import __version__
from kdiag.client.network.request import RequestBuilder
from kdiag.errors import UnsupportedVersionError
from kdiag.wire import api_keys
from kdiag.wire.api.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kdiag.wire.catalog import API_BY_KEY, Api
from kdiag.wire.client_release import ClientRelease, spoken_versions
from kdiag.wire.error_code import CODE_BY_NAME, error_name
from kdiag.wire.schema import NO_VERSIONS, Versions

SOFTWARE_NAME: Final = "kdiag"
UNSUPPORTED_VERSION: Final = CODE_BY_NAME["UNSUPPORTED_VERSION"]
_API: Final = API_BY_KEY[api_keys.API_VERSIONS]
_FIRST_VERSION: Final = 4


class NodeApiVersions:
    """The versions that a node speaks.

    Attributes:
        response: its ApiVersions response, with features.
    """

    def __init__(self, response: ApiVersionsResponse, release: ClientRelease | None = None) -> None:
        self.response = response
        self._release = release
        self._by_key = {
            each.api_key: Versions(each.min_version, each.max_version) for each in response.api_keys
        }

    def range(self, api: Api) -> Versions | None:
        """Return the versions of an API that the node advertises; None if it has none."""
        return self._by_key.get(api.key)

    def usable_version(self, builder: RequestBuilder) -> int:
        """Return the newest version that the request allows, and node and client know.

        The newest is never one of those that Kafka 4 advertises and refuses (Produce 0-2, kept
        for librdkafka's sake), unless the request allows nothing else.

        Raises:
            UnsupportedVersionError: if there is none.
        """
        wanted = wanted_versions(builder.api, builder.versions, self._release)
        offered = self._by_key.get(builder.api.key)
        if offered is None:
            raise UnsupportedVersionError(f"the broker does not offer {builder.api.name}")
        version = intersection(wanted, offered)
        if version.low > version.high:
            wants = f"versions {wanted} are wanted"
            if self._release is not None:
                wants = f"{_who(self._release)} wants versions {wanted}"
            raise UnsupportedVersionError(
                f"the broker speaks versions {offered} of {builder.api.name}, {wants}"
            )
        return version.high


class VersionNegotiation:
    """The negotiation with each node: in which version to ask it next, or its response."""

    def __init__(self, release: ClientRelease | None = None) -> None:
        """Begin without nodes; kdiag speaks as the clients of `release`, if one is given."""
        self._release = release
        self._pending: dict[str, int] = {}
        self._known: dict[str, NodeApiVersions] = {}

    def begin(self, node_id: str) -> None:
        """Queue version negotiation for a new connection."""
        self._pending[node_id] = min(_FIRST_VERSION, spoken_versions(_API, self._release).high)

    def forget(self, node_id: str) -> None:
        """Forget a node whose connection has ended."""
        self._pending.pop(node_id, None)
        self._known.pop(node_id, None)

    def known(self, node_id: str) -> NodeApiVersions | None:
        """Return the versions that a node speaks, once it has answered on its connection."""
        return self._known.get(node_id)

    def version_for(self, node_id: str, builder: RequestBuilder) -> int:
        """Return the version of a request to a node; the newest where its versions are unknown.

        Raises:
            UnsupportedVersionError: if there is none.
        """
        known = self._known.get(node_id)
        if known is None:
            return wanted_versions(builder.api, builder.versions, self._release).high
        return known.usable_version(builder)

    def pending(self) -> list[str]:
        """Return the nodes that still need an ApiVersions request."""
        return list(self._pending)

    def next_request(self, node_id: str) -> RequestBuilder:
        """Return the ApiVersions request for a pending node, which then is not pending."""
        version = self._pending.pop(node_id)
        message = ApiVersionsRequest(
            client_software_name=SOFTWARE_NAME, client_software_version=__version__
        )
        return RequestBuilder(_API, Versions(version, version), lambda _: message)

    def handle_response(self, node_id: str, asked: int, response: ApiVersionsResponse) -> bool:
        """Handle the response to a request in version `asked`; return whether it is the last.

        Raises:
            UnsupportedVersionError: if the broker refuses.
        """
        if response.error_code == UNSUPPORTED_VERSION and asked > 0:
            self._pending[node_id] = _lower_version(asked, response)
            return False
        if response.error_code:
            name = error_name(response.error_code)
            raise UnsupportedVersionError(f"ApiVersions version {asked} was answered with {name}")
        self._known[node_id] = NodeApiVersions(response, self._release)
        return True


def intersection(first: Versions, second: Versions) -> Versions:
    """Return the versions that lie in both ranges; `low > high` if there are none."""
    return Versions(max(first.low, second.low), min(first.high, second.high))


def wanted_versions(api: Api, allowed: Versions, release: ClientRelease | None = None) -> Versions:
    """Return the versions that a request allows and kdiag speaks, whatever a node does.

    Args:
        api: of the request.
        allowed: the versions that can express it.
        release: kdiag speaks as its clients; None for itself.

    Raises:
        UnsupportedVersionError: if there are none.
    """
    spoken = spoken_versions(api, release)
    wanted = intersection(allowed, spoken)
    if wanted.low <= wanted.high:
        return wanted
    who = _who(release)
    if spoken == NO_VERSIONS:
        raise UnsupportedVersionError(f"{who} does not know {api.name}")
    raise UnsupportedVersionError(
        f"{who} knows versions {spoken} of {api.name}, {allowed} are wanted"
    )


def _who(release: ClientRelease | None) -> str:
    """Return the name of whoever speaks as the clients of a release."""
    return "kdiag" if release is None else f"a client of Kafka {release.name}"


def _lower_version(asked: int, response: ApiVersionsResponse) -> int:
    """Return the next version to ask in: a lower one, so that it comes to an end."""
    offered = (
        each.max_version for each in response.api_keys if each.api_key == api_keys.API_VERSIONS
    )
    newest = next(offered, 0)
    return newest if 0 <= newest < asked else 0
