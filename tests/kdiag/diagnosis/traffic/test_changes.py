"""What administrators changed is kept with its subject; secrets are not."""

from kdiag.diagnosis.traffic.changes import BEFORE_NS, Changes
from kdiag.exchange.dissection import Dissection
from kdiag.wire.api.delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
)
from kdiag.wire.api.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from recordings.exchange_maker import START_NS, make_exchange


def altered(name: str, value: str, error_code: int = 0) -> Dissection:
    """Return the change of a setting of `orders`."""
    config = AlterableConfig(name=name, value=value)
    request = IncrementalAlterConfigsRequest(
        [AlterConfigsResource(resource_name="orders", configs=[config])]
    )
    answer = AlterConfigsResourceResponse(error_code=error_code, resource_name="orders")
    response = IncrementalAlterConfigsResponse(responses=[answer])
    return Dissection(make_exchange(request, response, version=1))


def test_a_change_is_known_for_a_minute() -> None:
    """With the time that has passed; one that was refused changed nothing."""
    changes = Changes()
    changes.add(altered("retention.ms", "1", error_code=42))
    assert changes.before(START_NS, "orders") == ""
    changes.add(altered("retention.ms", "1"))
    found = "1.00 s after app set retention.ms=1"
    assert changes.before(START_NS + 1_000_000_000, "orders") == found
    assert changes.before(START_NS + BEFORE_NS + 1, "orders") == ""
    assert changes.before(START_NS - 1, "orders") == ""
    assert changes.before(START_NS, "others") == ""


def test_secrets_are_not_shown() -> None:
    """Nor in the evidence of a finding."""
    changes = Changes()
    changes.add(altered("ssl.key.password", "hunter2"))
    assert "hunter2" not in changes.before(START_NS, "orders")


def test_a_topic_that_was_deleted_is_known_by_its_name() -> None:
    """In each version."""
    changes = Changes()
    response = DeleteTopicsResponse(responses=[DeletableTopicResult(name="orders")])
    request = DeleteTopicsRequest(topic_names=["orders"])
    changes.add(Dissection(make_exchange(request, response, version=4)))
    assert changes.before(START_NS, "orders") == "0.00 s after app deleted it"
