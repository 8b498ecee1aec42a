"""ApiVersions: which APIs and versions a node speaks.

Behaviour: exactly those for which there is a handler, within the release that the node speaks as.
A version that the node does not know is answered in version 0, with UNSUPPORTED_VERSION and the
versions of ApiVersions, so that the client can ask again: the dispatch does that, for it cannot
read the request either.

Version notes: 3 names the client's software (KIP-511; a name or version with other characters is
INVALID_REQUEST) and tells features (KIP-584); 4 tells features whose lowest level is 0 (KIP-1022);
5 names the cluster and the node that the client means (KIP-1242), and a client that means another
is told REBOOTSTRAP_REQUIRED.

Leaves out: nothing.
"""

import re
from typing import Final

from kdiag.lab.api.call import ApiCall
from kdiag.wire import api_keys
from kdiag.wire.api.api_versions import (
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)
from kdiag.wire.error_code import CODE_BY_NAME

_SOFTWARE: Final = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9.-]*[a-zA-Z0-9])?", re.ASCII)
_FIRST_WITH_SOFTWARE: Final = 3
_FIRST_WITH_LEVEL_ZERO: Final = 4
_NO_NODE: Final = -1


def handle(request: ApiVersionsRequest, call: ApiCall) -> ApiVersionsResponse:
    """Tell what the node speaks."""
    if call.version >= _FIRST_WITH_SOFTWARE:
        name, version = request.client_software_name, request.client_software_version
        if not (_SOFTWARE.fullmatch(name) and _SOFTWARE.fullmatch(version)):
            return ApiVersionsResponse(error_code=CODE_BY_NAME["INVALID_REQUEST"])
        call.set_client_software(name, version)
    response = ApiVersionsResponse(api_keys=told_versions(call))
    response.error_code = _fault(request, call)
    lowest = 0 if call.version >= _FIRST_WITH_LEVEL_ZERO else 1
    response.supported_features = [
        SupportedFeatureKey(
            name=name, min_version=levels.supported.low, max_version=levels.supported.high
        )
        for name, levels in call.node.features.items()
        if levels.supported.low >= lowest
    ]
    response.finalized_features = [
        FinalizedFeatureKey(
            name=name, max_version_level=levels.finalized, min_version_level=levels.finalized
        )
        for name, levels in call.node.features.items()
        if levels.finalized
    ]
    if response.finalized_features:
        response.finalized_features_epoch = call.node.controller.image.version
    return response


def told_versions(call: ApiCall) -> list[ApiVersion]:
    """Return what the node speaks."""
    return [
        ApiVersion(
            api_key=key,
            min_version=0 if key == api_keys.PRODUCE else versions.low,
            max_version=versions.high,
        )
        for key, versions in sorted(call.node.versions.items())
    ]


def _fault(request: ApiVersionsRequest, call: ApiCall) -> int:
    """Return REBOOTSTRAP_REQUIRED for a client that means another cluster or node."""
    cluster_id = call.node.controller.image.cluster_id
    is_other = request.cluster_id is not None and request.cluster_id != cluster_id
    if is_other or request.node_id not in {_NO_NODE, call.node.node_id}:
        return CODE_BY_NAME["REBOOTSTRAP_REQUIRED"]
    return 0
