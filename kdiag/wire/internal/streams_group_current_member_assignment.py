"""The tasks that one streams member runs right now.

Record type 22 of `__consumer_offsets`, version 0, flexible from 0.
"""

from typing import Annotated

from kdiag.wire.schema import Int8, Int32, String, Struct, message, tag


@message(versions="0")
class StreamsGroupCurrentMemberAssignmentKey(Struct):
    """The key of a record of type 22."""

    group_id: String = ""
    member_id: String = ""


class TaskIds(Struct):
    """One element of `active_tasks` in StreamsGroupCurrentMemberAssignmentValue."""

    subtopology_id: String = ""
    partitions: list[Int32] = []
    assignment_epochs: Annotated[list[Int32] | None, tag(0)] = []


@message(versions="0", flexible="0+")
class StreamsGroupCurrentMemberAssignmentValue(Struct):
    """The value of a record of type 22."""

    member_epoch: Int32 = 0
    previous_member_epoch: Int32 = 0
    state: Int8 = 0
    active_tasks: list[TaskIds] = []
    standby_tasks: list[TaskIds] = []
    warmup_tasks: list[TaskIds] = []
    active_tasks_pending_revocation: list[TaskIds] = []
    standby_tasks_pending_revocation: list[TaskIds] = []
    warmup_tasks_pending_revocation: list[TaskIds] = []
