"""A KRaft leader marks the start of its epoch in the log.

Versions 0-1, flexible from 0.
"""

from typing import Annotated

from kdiag.wire.schema import ZERO_UUID, BrokerId, Int16, Int32, Struct, Uuid, message, since


class Voter(Struct):
    """One element of `voters` in LeaderChangeMessage."""

    voter_id: Int32 = 0
    voter_directory_id: Annotated[Uuid, since("1+")] = ZERO_UUID


@message(versions="0-1", flexible="0+")
class LeaderChangeMessage(Struct):
    """Kafka's LeaderChangeMessage."""

    version: Int16 = 0
    leader_id: BrokerId = 0
    voters: list[Voter] = []
    granting_voters: list[Voter] = []
