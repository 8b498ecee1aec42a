"""Which versions a node speaks, and which of them to use.

Source: Kafka's `NodeApiVersions`; KIP-35, KIP-896 (Kafka 4 dropped old versions).
"""

from kdiag.client.network.request import RequestBuilder
from kdiag.errors import UnsupportedVersionError
from kdiag.wire.api.api_versions import ApiVersionsResponse
from kdiag.wire.catalog import Api
from kdiag.wire.schema import Versions


class NodeApiVersions:
    """What a broker answered to ApiVersions.

    Attributes:
        response: the answer as it came, with features.
    """

    def __init__(self, response: ApiVersionsResponse) -> None:
        self.response = response
        self._by_key = {
            each.api_key: Versions(each.min_version, each.max_version) for each in response.api_keys
        }

    def range(self, api: Api) -> Versions | None:
        """Return the versions that the node advertises of an API; None if it has none."""
        return self._by_key.get(api.key)

    def usable_version(self, builder: RequestBuilder) -> int:
        """Return the newest version that the request allows, and node and kdiag know.

        The newest is never one of those that Kafka 4 advertises and refuses (Produce 0-2, kept
        for librdkafka's sake), unless the request allows nothing else.

        Raises:
            UnsupportedVersionError: if there is none.
        """
        offered = self._by_key.get(builder.api.key)
        if offered is None:
            raise UnsupportedVersionError(f"the broker does not offer {builder.api.name}")
        wanted = intersection(builder.versions, builder.api.versions)
        version = intersection(wanted, offered)
        if version.low > version.high:
            raise UnsupportedVersionError(
                f"the broker speaks versions {offered} of {builder.api.name}, "
                f"versions {wanted} are wanted"
            )
        return version.high


def intersection(first: Versions, second: Versions) -> Versions:
    """Return the versions that lie in both ranges; `low > high` if there are none."""
    return Versions(max(first.low, second.low), min(first.high, second.high))


def newest_version(builder: RequestBuilder) -> int:
    """Return the newest version that the request allows and kdiag knows, whatever a node speaks.

    Raises:
        UnsupportedVersionError: if there is none.
    """
    version = intersection(builder.versions, builder.api.versions)
    if version.low > version.high:
        known = builder.api.versions
        raise UnsupportedVersionError(
            f"kdiag knows versions {known} of {builder.api.name}, {builder.versions} are wanted"
        )
    return version.high
