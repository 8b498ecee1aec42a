"""What is said of what a source does not tell: records, or descriptions.

Both go through the same state machines, which find the same causes in them. A record was written
when a group changed, a description is asked for now and then; so they lack different things.
"""

from typing import Final, NamedTuple


class RecordWords(NamedTuple):
    """A source, and notes on causes.

    Attributes:
        source: its name in histories.
        gone: on a member that is not there any more.
        oldest: on the first state that the source has of a group.
        skipped: on generations and epochs between two states.
        untold: on an epoch without any change that the source shows.
        tells_generations: whether the source tells the generations of classic groups; else they
            are counted.
    """

    source: str
    gone: str
    oldest: str
    skipped: str
    untold: str
    tells_generations: bool


RECORDS: Final = RecordWords(
    source="offsets",
    gone="it is gone; whether it left or failed the records do not tell",
    oldest="this is the oldest record that is left",
    skipped="it was not completed, or compaction removed its record",
    untold="the records do not tell",
    tells_generations=True,
)

DESCRIPTIONS: Final = RecordWords(
    source="describe",
    gone="it is gone; whether it left or failed coordinators do not tell",
    oldest="it was so at the first look",
    skipped="it came and went between two looks",
    untold="coordinators do not tell",
    tells_generations=False,
)
