"""Features of a cluster that clients ask for before they use them (KIP-584), by release.

    group.version         1    the consumer protocol of groups (KIP-848)
    transaction.version   2    producers need not add partitions, epochs grow with every
                               transaction (KIP-890)

A level that is finalized is in use by all brokers: a producer of Kafka 4 works as before KIP-890
until `transaction.version` 2 is. Clusters know them from Kafka 4.0 on.

Source: Kafka's `GroupVersion`, `TransactionVersion`.

Left out: features of what a lab has not, such as `metadata.version`, `kraft.version`,
`share.version` and `streams.version`.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from kdiag.wire.client_release import CLIENT_RELEASES, ClientRelease
from kdiag.wire.schema import Versions


class FeatureLevels(NamedTuple):
    """A feature.

    Attributes:
        supported: the levels that brokers know.
        finalized: the one in use; 0 for none.
    """

    supported: Versions
    finalized: int


_FEATURES: Final = {
    "group.version": FeatureLevels(Versions(0, 1), 1),
    "transaction.version": FeatureLevels(Versions(0, 2), 2),
}
_FIRST_RELEASE: Final = "4.0"


def features_of(release: ClientRelease) -> Mapping[str, FeatureLevels]:
    """Return the features that brokers of a release tell, by name."""
    order = CLIENT_RELEASES.index
    return _FEATURES if order(release.name) >= order(_FIRST_RELEASE) else {}
