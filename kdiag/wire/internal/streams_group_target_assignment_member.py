"""The tasks that one streams member is planned to run.

Record type 21 of `__consumer_offsets`, version 0, flexible from 0.
"""

from kdiag.wire.schema import Int32, String, Struct, message


@message(versions="0")
class StreamsGroupTargetAssignmentMemberKey(Struct):
    """The key of a record of type 21."""

    group_id: String = ""
    member_id: String = ""


class TaskIds(Struct):
    """One element of `active_tasks` in StreamsGroupTargetAssignmentMemberValue."""

    subtopology_id: String = ""
    partitions: list[Int32] = []


@message(versions="0", flexible="0+")
class StreamsGroupTargetAssignmentMemberValue(Struct):
    """The value of a record of type 21."""

    active_tasks: list[TaskIds] = []
    standby_tasks: list[TaskIds] = []
    warmup_tasks: list[TaskIds] = []
