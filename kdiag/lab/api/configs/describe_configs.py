"""DescribeConfigs: the settings of topics and brokers.

Behaviour: every setting of a topic that Kafka has, or those that are asked for, with the value that
counts; of a broker, those that a lab heeds. A topic that does not exist is
UNKNOWN_TOPIC_OR_PARTITION, another broker is INVALID_REQUEST, because each tells its own only.

Version notes: 0 says whether a value is the default; 1 says its source, and synonyms if asked
(KIP-226); 3 tells types, and documentation if asked (KIP-569).

Leaves out: loggers, groups and client metrics, which are INVALID_REQUEST; documentation, but for
settings that a lab does not act on.
"""

from typing import Final

from kdiag.lab.api.call import ApiCall
from kdiag.lab.api.configs.described_configs import (
    DescribedSetting,
    SettingSource,
    broker_settings,
    described_settings,
)
from kdiag.lab.controller.refusal import RequestRefusedError
from kdiag.lab.controller.topic_names import fault_in_name
from kdiag.wire.api.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)

TOPIC: Final = 2
BROKER: Final = 4


def handle(request: DescribeConfigsRequest, call: ApiCall) -> DescribeConfigsResponse:
    """Tell settings."""
    return DescribeConfigsResponse(
        results=[_describe(resource, request, call) for resource in request.resources]
    )


def _describe(
    resource: DescribeConfigsResource, request: DescribeConfigsRequest, call: ApiCall
) -> DescribeConfigsResult:
    result = DescribeConfigsResult(
        error_message=None,
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
    )
    try:
        settings = _settings(resource, call)
    except RequestRefusedError as error:
        result.error_code, result.error_message = error.code, error.why
        return result
    wanted = set(resource.configuration_keys or ())  # none stands for all
    result.configs = [
        _told(setting, request, call.version)
        for setting in settings
        if not wanted or setting.name in wanted
    ]
    return result


def _settings(resource: DescribeConfigsResource, call: ApiCall) -> list[DescribedSetting]:
    """Return the settings of a resource.

    Raises:
        RequestRefusedError: UNKNOWN_TOPIC_OR_PARTITION, INVALID_REQUEST.
    """
    name = resource.resource_name
    if resource.resource_type == TOPIC:
        topic = call.node.controller.image.topics.get(name)
        if topic is None and (fault := fault_in_name(name)):
            raise RequestRefusedError("INVALID_TOPIC_EXCEPTION", fault)
        if topic is None:
            raise RequestRefusedError("UNKNOWN_TOPIC_OR_PARTITION", f"there is no topic {name!r}")
        return described_settings(topic.configs)
    if resource.resource_type == BROKER:
        if name == "":
            return []  # settings for all brokers: there are none
        if name != str(call.node.node_id):
            why = f"this is broker {call.node.node_id}; ask broker {name!r} itself"
            raise RequestRefusedError("INVALID_REQUEST", why)
        return broker_settings(call.node.node_id, is_creating_topics=call.node.is_creating_topics)
    why = f"a lab has settings of topics (2) and brokers (4), not {resource.resource_type}"
    raise RequestRefusedError("INVALID_REQUEST", why)


def _told(
    setting: DescribedSetting, request: DescribeConfigsRequest, version: int
) -> DescribeConfigsResourceResult:
    synonyms = [
        DescribeConfigsSynonym(name=setting.name, value=setting.value, source=setting.source)
    ]
    if setting.source is not SettingSource.DEFAULT:
        synonyms.append(
            DescribeConfigsSynonym(
                name=setting.name, value=setting.default, source=SettingSource.DEFAULT
            )
        )
    return DescribeConfigsResourceResult(
        name=setting.name,
        value=setting.value,
        read_only=setting.is_read_only,
        is_default=version == 0 and setting.source is SettingSource.DEFAULT,
        config_source=setting.source,
        synonyms=synonyms if request.include_synonyms else [],
        config_type=setting.type,
        documentation=setting.documentation if request.include_documentation else None,
    )
