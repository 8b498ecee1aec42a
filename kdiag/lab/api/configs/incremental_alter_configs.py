"""IncrementalAlterConfigs: settings of a topic, one by one; the others stay (KIP-339).

Behaviour: SET (0) and DELETE (1) take any setting, APPEND (2) and SUBTRACT (3) lists only, such as
`cleanup.policy`. All changes of a topic are made, or none; a setting that stands twice is
INVALID_REQUEST.

Version notes: 1 is flexible.

Leaves out: brokers, loggers, groups and client metrics: INVALID_REQUEST says so.
"""

from collections.abc import Mapping
from enum import IntEnum

from kdiag.lab.api.call import ApiCall
from kdiag.lab.api.configs.alter_configs import set_configs
from kdiag.lab.controller.refusal import RequestRefusedError
from kdiag.lab.controller.topic_configs import TOPIC_SETTINGS, ConfigType
from kdiag.wire.api.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)


class ConfigOperation(IntEnum):
    """What is done with a setting."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


def handle(
    request: IncrementalAlterConfigsRequest, call: ApiCall
) -> IncrementalAlterConfigsResponse:
    """Change settings."""
    return IncrementalAlterConfigsResponse(
        responses=[
            _alter(resource, call, is_only_checked=request.validate_only)
            for resource in request.resources
        ]
    )


def _alter(
    resource: AlterConfigsResource, call: ApiCall, *, is_only_checked: bool
) -> AlterConfigsResourceResponse:
    response = AlterConfigsResourceResponse(
        error_message=None,
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
    )
    topic = call.node.controller.image.topics.get(resource.resource_name)
    try:
        configs = _changed(topic.configs if topic else {}, resource.configs)
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


def _changed(configs: Mapping[str, str], changes: list[AlterableConfig]) -> dict[str, str]:
    """Return settings after some changes.

    Raises:
        RequestRefusedError: INVALID_REQUEST, INVALID_CONFIG.
    """
    if len({change.name for change in changes}) < len(changes):
        raise RequestRefusedError("INVALID_REQUEST", "a setting stands twice in the request")
    changed = dict(configs)
    for change in changes:
        if change.config_operation == ConfigOperation.DELETE:
            changed.pop(change.name, None)
        elif change.value is None:
            raise RequestRefusedError("INVALID_REQUEST", f"no value for {change.name}")
        elif change.config_operation == ConfigOperation.SET:
            changed[change.name] = change.value
        else:
            changed[change.name] = _changed_list(changed, change, change.value.split(","))
    return changed


def _changed_list(configs: Mapping[str, str], change: AlterableConfig, given: list[str]) -> str:
    """Return a list with elements more or fewer."""
    setting = TOPIC_SETTINGS.get(change.name)
    if setting is None or setting.type is not ConfigType.LIST:
        why = f"{change.name} is not a list, which alone can be appended to or subtracted from"
        raise RequestRefusedError("INVALID_CONFIG", why)
    listed = [each for each in configs.get(change.name, setting.default).split(",") if each]
    if change.config_operation == ConfigOperation.APPEND:
        return ",".join(dict.fromkeys(listed + given))
    if change.config_operation == ConfigOperation.SUBTRACT:
        return ",".join(each for each in listed if each not in given)
    why = f"{change.config_operation} is not an operation on a setting"
    raise RequestRefusedError("INVALID_REQUEST", why)
