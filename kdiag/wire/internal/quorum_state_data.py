"""The vote of a KRaft replica: its quorum-state file, which is JSON.

Versions 0-1, flexible from 0.
"""

from typing import Annotated

from kdiag.wire.schema import ZERO_UUID, Int32, Int64, String, Struct, Uuid, message, since


class Voter(Struct):
    """One element of `current_voters` in QuorumStateData."""

    voter_id: Int32 = 0


@message(versions="0-1", flexible="0+")
class QuorumStateData(Struct):
    """Kafka's QuorumStateData."""

    cluster_id: Annotated[String, since("0")] = ""
    leader_id: Int32 = -1
    leader_epoch: Int32 = -1
    voted_id: Int32 = -1
    voted_directory_id: Annotated[Uuid, since("1+")] = ZERO_UUID
    applied_offset: Annotated[Int64, since("0")] = 0
    current_voters: Annotated[list[Voter] | None, since("0")] = []
