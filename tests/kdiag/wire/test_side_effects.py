"""What only reads."""

from kdiag.wire.api.create_topics import CreateTopicsRequest
from kdiag.wire.api.fetch import FetchRequest, ReplicaState
from kdiag.wire.api.metadata import MetadataRequest, MetadataRequestTopic
from kdiag.wire.catalog import API_BY_KEY, APIS, Api, api_named
from kdiag.wire.schema import Struct
from kdiag.wire.side_effects import READ_ONLY, effect
from tiers.cases import for_each

CREATES = "it creates topics"
CHANGES = "changes the cluster"


def told(message: Struct, version: int | None = None) -> str | None:
    """Return the effect of a request, by default in its newest version."""
    api = api_named(type(message).__name__.removesuffix("Request"))
    assert api is not None
    return effect(api, message, api.versions.high if version is None else version)


@for_each("api", APIS, ids=lambda api: api.name)
def test_what_is_not_in_the_table_changes_something(api: Api) -> None:
    """With every field at its default."""
    message = api.request_class()()
    assert (told(message) is None) == (api.key in READ_ONLY)


def test_names_that_sound_like_writing_are_not_in_the_table() -> None:
    """Nothing that alters, creates, deletes, joins, commits or produces only reads."""
    verbs = ("Alter", "Create", "Delete", "Join", "Commit", "Produce", "Update", "Write", "Leave")
    writers = {"AlterConfigs", "CreateTopics", "OffsetCommit", "JoinGroup", "ElectLeaders", "Vote"}
    harmless = {"DescribeProducers"}
    readers = {API_BY_KEY[key].name for key in READ_ONLY}
    assert not {name for name in readers - harmless if any(verb in name for verb in verbs)}
    assert readers.isdisjoint(writers)


def test_what_is_only_validated_changes_nothing() -> None:
    """The request says so itself."""
    assert told(CreateTopicsRequest(validate_only=True)) is None
    assert CHANGES in (told(CreateTopicsRequest()) or "")


def test_metadata_may_create_the_topics_that_it_names() -> None:
    """It always does before version 4, and later unless told not to; no topic, none created."""
    topics = [MetadataRequestTopic(name="orders")]
    assert CREATES in (told(MetadataRequest(topics=topics)) or "")
    assert told(MetadataRequest(topics=topics, allow_auto_topic_creation=False)) is None
    careful = MetadataRequest(topics=topics, allow_auto_topic_creation=False)
    assert CREATES in (told(careful, 3) or "")
    assert told(MetadataRequest(topics=None)) is None


def test_a_fetch_as_a_replica_counts_for_the_high_watermark() -> None:
    """In the old field and in the new one."""
    assert told(FetchRequest(replica_id=2), 12) is not None
    assert told(FetchRequest(replica_state=ReplicaState(replica_id=2))) is not None
    assert told(FetchRequest()) is None
