from importlib import import_module

from kdiag.lab.api.registry import DEFAULT_RELEASE, HANDLERS, spoken_versions
from kdiag.wire import api_keys
from kdiag.wire.catalog import API_BY_KEY
from kdiag.wire.client_release import CLIENT_RELEASES, ClientRelease, client_release
from kdiag.wire.schema import Versions
from tiers.cases import for_each


def release_of(name: str) -> ClientRelease:
    """Return a release that there is."""
    release = client_release(name)
    assert release is not None
    return release


@for_each("name", CLIENT_RELEASES)
def test_a_release_speaks_what_its_clients_know_and_a_handler_answers(name: str) -> None:
    """Neither more nor, as far as there is a handler, less."""
    release = release_of(name)
    spoken = spoken_versions(release)
    for key, handler in HANDLERS.items():
        known = release.versions(API_BY_KEY[key])
        both = [
            version
            for version in range(20)
            if known.covers(version) and handler.versions.covers(version)
        ]
        assert [
            version for version in range(20) if spoken.get(key, Versions(1, 0)).covers(version)
        ] == both


def test_a_handler_has_the_name_of_its_api() -> None:
    """So that one finds it: `Produce` is in `produce.py`, with `handle`."""
    for key, handler in HANDLERS.items():
        module = import_module(handler.handle.__module__)
        assert module.__name__.rpartition(".")[2] == API_BY_KEY[key].module
        assert "Behaviour:" in (module.__doc__ or "")
        assert "Leaves out:" in (module.__doc__ or "")
        assert API_BY_KEY[key].versions.covers(handler.versions.high)


def test_the_default_is_a_release_that_is_known() -> None:
    """It speaks record batches and topic ids."""
    spoken = spoken_versions(release_of(DEFAULT_RELEASE))
    assert spoken[api_keys.PRODUCE].high == 13
    assert spoken[api_keys.FETCH].low == 4
