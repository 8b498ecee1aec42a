"""AlterConfigs: all settings of a topic at once; what is not named has its default again.

Behaviour: a topic's settings are replaced or refused with an error of their own. Those of a broker
cannot be changed: INVALID_REQUEST says so.

Version notes: 1 is as 0, 2 is flexible. Administrators' tools have used IncrementalAlterConfigs
since 2.3 (KIP-339), for this request loses what somebody else has set meanwhile.

Leaves out: brokers, loggers, groups and client metrics.
"""

from collections.abc import Mapping

from kdiag.lab.api.call import ApiCall
from kdiag.lab.api.configs.describe_configs import TOPIC
from kdiag.lab.controller.refusal import RequestRefusedError
from kdiag.wire.api.alter_configs import (
    AlterConfigsRequest,
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    AlterConfigsResponse,
)


def handle(request: AlterConfigsRequest, call: ApiCall) -> AlterConfigsResponse:
    """Replace settings."""
    return AlterConfigsResponse(
        responses=[
            _alter(resource, call, is_only_checked=request.validate_only)
            for resource in request.resources
        ]
    )


def set_configs(
    resource_type: int,
    name: str,
    configs: Mapping[str, str],
    call: ApiCall,
    *,
    is_only_checked: bool,
) -> None:
    """Give a topic these settings and no others.

    Raises:
        RequestRefusedError: with the error of the response.
    """
    if resource_type != TOPIC:
        why = f"only settings of topics (2) can be changed, not of {resource_type}: start anew"
        raise RequestRefusedError("INVALID_REQUEST", why)
    call.node.controller.set_topic_configs(name, configs, is_only_checked=is_only_checked)


def _check_values(resource: AlterConfigsResource) -> None:
    """Refuse settings without a value.

    Raises:
        RequestRefusedError: INVALID_REQUEST.
    """
    missing = [each.name for each in resource.configs if each.value is None]
    if missing:
        raise RequestRefusedError("INVALID_REQUEST", f"no value for {', '.join(missing)}")


def _alter(
    resource: AlterConfigsResource, call: ApiCall, *, is_only_checked: bool
) -> AlterConfigsResourceResponse:
    response = AlterConfigsResourceResponse(
        error_message=None,
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
    )
    configs = {each.name: each.value or "" for each in resource.configs}
    try:
        _check_values(resource)
        set_configs(
            resource.resource_type,
            resource.resource_name,
            configs,
            call,
            is_only_checked=is_only_checked,
        )
    except RequestRefusedError as error:
        response.error_code, response.error_message = error.code, error.why
    return response
