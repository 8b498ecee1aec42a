"""The versions in which an API that carries records, or their offsets, can say what is meant.

The oldest are those with record batches of magic 2. The newest know topics by their ids alone, so
where a topic has none, the last that names it is as far as one can go.

Source: KIP-98 (record batches), KIP-516 (topic ids).
"""

from typing import Final

from kdiag.wire.catalog import API_BY_KEY
from kdiag.wire.schema import Versions

_OLDEST: Final = {0: 3, 1: 4, 8: 2}  # Produce, Fetch, OffsetCommit
_NEWEST_BY_NAME: Final = {0: 12, 1: 12, 8: 9}


def record_versions(api_key: int, *, has_topic_ids: bool) -> Versions:
    """Return the versions to choose from.

    Args:
        api_key: of Produce, Fetch or OffsetCommit.
        has_topic_ids: whether the ids of all topics are known.
    """
    newest = API_BY_KEY[api_key].versions.high if has_topic_ids else _NEWEST_BY_NAME[api_key]
    return Versions(_OLDEST[api_key], newest)
