"""`auto.offset.reset`: where a group reads on whose offset is not in the log.

| policy | the offset |
|---|---|
| earliest | the first of the log |
| latest | the end of the log |
| by_duration:PT1H | the first record of the last hour, else the end (KIP-1106) |
| none | none: an error that names the partition and the offset |

Source: Kafka's `AutoOffsetResetStrategy`.
"""

import re
from typing import Final, NamedTuple

from kdiag.client.config.values import ConfigValues
from kdiag.client.fetch.offsets import EARLIEST, LATEST, NO_OFFSET
from kdiag.errors import ConfigError

KEY: Final = "auto.offset.reset"
_EARLIEST: Final = "earliest"
NONE: Final = "none"

_BY_DURATION: Final = "by_duration:"
_ISO_DURATION: Final = re.compile(
    r"P(?=.)(?:(\d+)D)?(?:T(?=.)(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?", re.IGNORECASE
)
_MS: Final = (86_400_000, 3_600_000, 60_000, 1_000)


class LogRange(NamedTuple):
    """The offsets of a log.

    Attributes:
        first, end: of its first record, and behind its last.
        at_time: of the first record at the time that a policy asks for; -1 if there is none.
    """

    first: int
    end: int
    at_time: int = NO_OFFSET

    def lacks(self, offset: int, epoch: int | None = None) -> str:
        """Return that it does not have an offset, or not with the leader epoch it was read with."""
        lacking = (
            f"no {offset}" if epoch is None else f"no leader epoch {epoch}, of offset {offset}"
        )
        return f"the log has offsets {self.first} to {self.end}, and {lacking}"


class ResetPolicy(NamedTuple):
    """A policy.

    Attributes:
        name: as the setting has it.
        duration_ms: how long ago the first record may be; None where the policy is another.
    """

    name: str
    duration_ms: int | None = None

    def timestamp(self, now_ms: int) -> int:
        """Return what to look up: EARLIEST, LATEST, or milliseconds since 1970."""
        if self.duration_ms is not None:
            return max(0, now_ms - self.duration_ms)
        return EARLIEST if self.name == _EARLIEST else LATEST

    def offset_in(self, log: LogRange) -> int:
        """Return where to read on in a log."""
        if self.duration_ms is not None:
            return log.end if log.at_time == NO_OFFSET else log.at_time
        return log.first if self.name == _EARLIEST else log.end

    def text(self, why: str, offset: int) -> str:
        """Return what is said of an offset that is not in its log, and of the one instead."""
        return f"{why}: reading on at {offset} ({KEY}={self.name})"

    def refuse(self, why: str) -> None:
        """Refuse to guess where to read on.

        Raises:
            ConfigError: if the policy is `none`.
        """
        if self.name == NONE:
            raise ConfigError(KEY, KEY, f"it is none, and {why}")


def reset_policy(values: ConfigValues) -> ResetPolicy | None:
    """Return the policy that the settings give; None if they give none.

    Raises:
        ConfigError: if it is not one of Kafka's.
    """
    setting = values.setting(KEY)
    if setting is None:
        return None
    text = setting.value.strip()
    if not text.lower().startswith(_BY_DURATION):
        return ResetPolicy(values.choice(KEY))
    match = _ISO_DURATION.fullmatch(text[len(_BY_DURATION) :])
    if match is None:
        raise setting.wrong(f"expected by_duration:PT1H, or another ISO duration; found {text!r}")
    parts = zip(match.groups(default="0"), _MS, strict=True)
    return ResetPolicy(text, round(sum(float(part) * unit for part, unit in parts)))
