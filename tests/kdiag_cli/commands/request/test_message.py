"""From what is typed to a request."""

from typing import Any

import pytest

from kdiag.errors import EncodeError
from kdiag.wire.catalog import Api
from kdiag.wire.schema import Versions
from kdiag.wire.side_effects import effect
from kdiag_cli.commands.request.message import (
    read_message,
)
from kdiag_cli.options.apis import read_api
from tiers.cases import for_each

FIND_COORDINATOR = read_api("FindCoordinator")


@for_each(
    ("form", "versions"),
    [
        ({}, Versions(0, 6)),
        ({"keyType": 1}, Versions(1, 6)),
        ({"key": "orders"}, Versions(0, 3)),
        ({"coordinatorKeys": ["orders"]}, Versions(4, 6)),
        ({"_unknownTaggedFields": [{"tag": 9, "data": ""}]}, Versions(3, 6)),
    ],
)
def test_the_versions_are_those_that_have_the_fields(
    form: dict[str, Any], versions: Versions
) -> None:
    """So nobody has to know that FindCoordinator had one key until version 3."""
    message = read_message(FIND_COORDINATOR, form, None)
    assert message.versions == versions
    assert message.builder.versions == versions


def test_api_versions_names_the_client_as_brokers_demand() -> None:
    """Unless the request does so itself."""
    api = read_api("ApiVersions")
    built: Any = read_message(api, {}, None).build(3)
    assert built.client_software_name == "kdiag"
    built = read_message(api, {"clientSoftwareName": "me"}, None).build(3)
    assert built.client_software_name == "me"
    assert read_message(api, {}, None).build(0) == api.request_class()()


def test_the_version_that_is_given_is_the_only_one() -> None:
    """What it does not have is refused, though others have it."""
    assert read_message(FIND_COORDINATOR, {"key": "a"}, 2).versions == Versions(2, 2)
    with pytest.raises(EncodeError, match="key: version 6 has no such field, versions 0-3 have it"):
        read_message(FIND_COORDINATOR, {"key": "a"}, 6)


@for_each(
    ("api", "form", "why"),
    [
        (
            FIND_COORDINATOR,
            {"keytype": 0},
            "keytype: version 6 has no such field; did you mean keyT",
        ),
        (FIND_COORDINATOR, {"keyType": 300}, "keyType: 300 is not of type int8"),
        (FIND_COORDINATOR, {"key": "a", "coordinatorKeys": []}, "key: version 6 has no such field"),
        (read_api("Metadata"), {"topics": [{"name": 5}]}, r"topics\[0\].name: expected string"),
    ],
)
def test_what_no_version_can_say_is_refused(api: Api, form: dict[str, Any], why: str) -> None:
    """In the words of the newest."""
    with pytest.raises(EncodeError, match=why):
        read_message(api, form, None)


def test_metadata_of_topics_creates_none_unless_asked_to() -> None:
    """The protocol's default would; versions that cannot do without are not used by themselves."""
    metadata = read_api("Metadata")
    form = {"topics": [{"name": "orders"}]}
    message = read_message(metadata, form, None)
    assert message.versions.low == 4
    newest = message.versions.high
    assert effect(metadata, message.build(newest), newest) is None
    asked = read_message(metadata, {**form, "allowAutoTopicCreation": True}, None)
    assert effect(metadata, asked.build(newest), newest) is not None
    old = read_message(metadata, form, 1)
    assert effect(metadata, old.build(1), 1) is not None
    assert read_message(metadata, {}, None).versions.low == 0
