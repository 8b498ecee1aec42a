from kdiag.lab.api.configs.described_configs import (
    KEPT,
    SettingSource,
    broker_settings,
    described_settings,
)


def test_a_setting_that_was_set_counts() -> None:
    """The others are at their defaults; those that change nothing say so."""
    settings = {each.name: each for each in described_settings({"flush.ms": "7"})}
    assert settings["flush.ms"].value == "7"
    assert SettingSource.of(settings["flush.ms"]) is SettingSource.TOPIC
    assert settings["flush.ms"].documentation == KEPT
    assert settings["segment.ms"].value == settings["segment.ms"].default == "604800000"
    assert settings["segment.ms"].source is SettingSource.DEFAULT
    assert settings["segment.ms"].documentation is None


def test_settings_of_a_broker_are_as_it_was_started() -> None:
    """Nobody can change them."""
    settings = {each.name: each for each in broker_settings(3, is_creating_topics=False)}
    assert settings["node.id"].value == "3"
    assert settings["auto.create.topics.enable"].value == "false"
    assert all(each.is_read_only for each in settings.values())
