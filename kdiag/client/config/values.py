"""Typed values of settings: numbers, flags, choices, words, texts, paths and secrets."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from kdiag.client.config.keys import CHOICES, FLAGS, LISTS, NUMBERS, TEXTS, USED
from kdiag.client.config.sources import Setting
from kdiag.errors import ConfigError
from kdiag.exchange.secrets.redaction import REDACTED

DEFAULT: Final = "default"
"""The origin of values that were not given."""

_FLAGS: Final = {"true": True, "1": True, "false": False, "0": False}  # librdkafka takes digits
_MAX_DIGITS: Final = 20


class Secret(str):
    """A text whose `repr` does not show it."""

    __slots__ = ()

    def __repr__(self) -> str:
        return REDACTED


class ConfigValues:
    """The settings in force, read by the kind of their value; absent ones have their defaults.

    Every method raises ConfigError if the text is not of its kind.
    """

    def __init__(self, settings: Mapping[str, Setting]) -> None:
        self._settings = settings

    def setting(self, key: str) -> Setting | None:
        """Return a setting that was given."""
        return self._settings.get(key)

    def number(self, key: str) -> int:
        """Return a whole number."""
        setting = self._settings.get(key)
        spec = NUMBERS[key]
        if setting is None:
            return spec.default
        text = setting.value.strip()
        digits = text.removeprefix("-").removeprefix("+")
        if not (digits.isascii() and digits.isdigit() and len(digits) < _MAX_DIGITS):
            raise setting.wrong(f"expected a whole number, found {text!r}")
        number = int(text)
        if not spec.low <= number <= spec.high:
            raise setting.wrong(f"expected {spec.low} to {spec.high}, found {number}")
        return number

    def flag(self, key: str) -> bool:
        """Return a flag."""
        setting = self._settings.get(key)
        if setting is None:
            return FLAGS[key]
        flag = _FLAGS.get(setting.value.strip().lower())
        if flag is None:
            raise setting.wrong(f"expected true or false, found {setting.value!r}")
        return flag

    def choice(self, key: str) -> str:
        """Return one of the words that a setting can have, in its canonical spelling."""
        setting = self._settings.get(key)
        spec = CHOICES[key]
        if setting is None:
            return spec.default
        text = setting.value.strip()
        known = {each.lower(): each for each in spec.choices} | spec.others
        chosen = known.get(text.lower())
        if chosen is None:
            words = ", ".join(each or "nothing" for each in spec.choices)
            raise setting.wrong(f"expected one of {words}; found {text!r}")
        return chosen

    def words(self, key: str) -> tuple[str, ...]:
        """Return a list of words."""
        setting = self._settings.get(key)
        if setting is None:
            return LISTS[key]
        return tuple(word for each in setting.value.split(",") if (word := each.strip()))

    def text(self, key: str) -> str:
        """Return a text; its default if it was not given."""
        setting = self._settings.get(key)
        return TEXTS[key] if setting is None else setting.value

    def secret(self, key: str) -> Secret | None:
        """Return a secret; None if it was not given."""
        setting = self._settings.get(key)
        return None if setting is None else Secret(setting.value)

    def path(self, key: str) -> str | None:
        """Return the path of a file; None if it was not given."""
        setting = self._settings.get(key)
        if setting is None or not setting.value:
            return None
        try:
            return str(Path(setting.value).expanduser())
        except RuntimeError as error:  # a `~` without a home folder
            raise setting.wrong(str(error)) from None

    def wrong(self, key: str, why: str) -> ConfigError:
        """Return the error about the value of a setting, or about its default."""
        setting = self._settings.get(key)
        return ConfigError(key, DEFAULT, why) if setting is None else setting.wrong(why)

    def default_text(self, key: str) -> str:
        """Return the default of a setting as text."""
        if key in NUMBERS:
            return str(NUMBERS[key].default)
        if key in FLAGS:
            return str(FLAGS[key]).lower()
        if key in CHOICES:
            return CHOICES[key].default
        if key in LISTS:
            return ",".join(LISTS[key])
        return TEXTS.get(key, "")

    def in_force(self, *, with_defaults: bool = False) -> list[Setting]:
        """Return every setting that was given, by name, and all others with their defaults."""
        found = dict(self._settings)
        if with_defaults:
            for key in USED - found.keys():
                found[key] = Setting(key, self.default_text(key), DEFAULT, key)
        return [found[key] for key in sorted(found)]
