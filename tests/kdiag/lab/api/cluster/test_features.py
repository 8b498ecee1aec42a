from kdiag.lab.api.cluster.features import features_of
from kdiag.lab.api.registry import spoken_versions
from kdiag.wire import api_keys
from kdiag.wire.client_release import CLIENT_RELEASES, client_release
from kdiag.wire.schema import NO_VERSIONS
from tiers.cases import for_each


@for_each("name", CLIENT_RELEASES)
def test_a_release_finalizes_what_it_can_do(name: str) -> None:
    """Producers that need not add partitions ask in Produce 12, which 4.0 is the first to speak."""
    release = client_release(name)
    assert release is not None
    features = features_of(release)
    spoken = spoken_versions(release).get(api_keys.PRODUCE, NO_VERSIONS)
    assert bool(features) is spoken.covers(12)
    for levels in features.values():
        assert levels.supported.covers(levels.finalized)
