import pytest

from kdiag.client.fetch.record_versions import record_versions
from kdiag.wire.catalog import API_BY_KEY


@pytest.mark.parametrize(("api_key", "oldest", "by_name"), [(0, 3, 12), (1, 4, 12), (8, 2, 9)])
def test_topics_without_ids_are_named_which_the_newest_versions_cannot(
    api_key: int, oldest: int, by_name: int
) -> None:
    """With ids, all versions from the first with record batches on will do."""
    assert record_versions(api_key, has_topic_ids=False) == (oldest, by_name)
    newest = API_BY_KEY[api_key].versions.high
    assert newest > by_name
    assert record_versions(api_key, has_topic_ids=True) == (oldest, newest)
