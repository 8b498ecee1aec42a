"""The request that a person means: which API, its body, and the versions that can encode it."""

from typing import Any, Final, NamedTuple

from kdiag import __version__
from kdiag.client.network.api_versions import SOFTWARE_NAME
from kdiag.client.network.request import RequestBuilder
from kdiag.errors import EncodeError
from kdiag.wire import api_keys
from kdiag.wire.catalog import Api
from kdiag.wire.codec.encode_check import find_fault
from kdiag.wire.codec.json_form import from_json
from kdiag.wire.schema import Struct, Versions

_FIRST_WITH_SOFTWARE: Final = 3
_SOFTWARE: Final = {"clientSoftwareName": SOFTWARE_NAME, "clientSoftwareVersion": __version__}
"""Brokers refuse an ApiVersions request without these."""

_FIRST_WITHOUT_CREATION: Final = 4
_NO_CREATION: Final = {"allowAutoTopicCreation": False}
"""The protocol's own default is to create topics: no user who asks for metadata means that."""


class RequestMessage(NamedTuple):
    """A request to be sent.

    Attributes:
        api: which API.
        form: its body, in Kafka's JSON.
        versions: the versions that can encode it.
    """

    api: Api
    form: dict[str, Any]
    versions: Versions

    def build(self, version: int) -> Struct:
        """Return the message for a version.

        Raises:
            EncodeError: if that version cannot encode it.
        """
        form = self.form
        if self.api.key == api_keys.API_VERSIONS and version >= _FIRST_WITH_SOFTWARE:
            form = {**_SOFTWARE, **form}
        return from_json(self.api.request_class(), version, form)

    @property
    def builder(self) -> RequestBuilder:
        """Return the request as the client expects it."""
        return RequestBuilder(self.api, self.versions, self.build)


def read_message(api: Api, form: dict[str, Any], version: int | None) -> RequestMessage:
    """Return the request for a body in JSON.

    Args:
        api: the API.
        form: in Kafka's JSON.
        version: the only version to use; None for every one that has all the fields of the form.

    Raises:
        EncodeError: if no version, or not that one, can encode it; names the field and the reason.
    """
    if api.key == api_keys.METADATA and form.get("topics") and _can_spare_topics(version):
        form = {**_NO_CREATION, **form}
    fits = _versions_for(api, form) if version is None else Versions(version, version)
    fault = _fault(api, form, fits.high)
    if fault is not None:
        raise fault
    return RequestMessage(api, form, fits)


def _can_spare_topics(version: int | None) -> bool:
    """Return whether a Metadata request can ask for topics without creating them."""
    return version is None or version >= _FIRST_WITHOUT_CREATION


def _versions_for(api: Api, form: dict[str, Any]) -> Versions:
    """Return the newest versions that can encode a body; the newest of all if none can."""
    can = [_fault(api, form, each) is None for each in range(api.versions.high + 1)]
    high = max((each for each, is_able in enumerate(can) if is_able), default=api.versions.high)
    low = high
    while low > api.versions.low and can[low - 1]:
        low -= 1
    return Versions(low, high)


def _fault(api: Api, form: dict[str, Any], version: int) -> EncodeError | None:
    """Return why a version cannot encode a body; None if it can."""
    try:
        message = from_json(api.request_class(), version, form)
    except EncodeError as error:
        return error
    return find_fault(message, version)
