"""Offset commits by the consumer protocol: they name the member's epoch.

The epoch grows whenever the member is assigned something else, and it learns that from an answer to
a heartbeat. A commit that meets the coordinator before that answer has come is refused, and is made
again. One of a member that the coordinator does not know changes nothing here: the answer to the
next heartbeat says the same, and has the member join again.

Source: Kafka's `CommitRequestManager.OffsetCommitRequestState`; KIP-848.
"""

from typing import Final

from kdiag.client.group.membership import Generation
from kdiag.client.group.offset_commits import LAST_WITH_NAMES, OffsetCommits
from kdiag.client.group.refusals import named_refusal
from kdiag.errors import CommitFailedError, GroupError, KdiagError
from kdiag.wire.error_code import error_name
from kdiag.wire.schema import Versions

_FIRST_WITH_EPOCHS: Final = 9
_WHY_STALE: Final = "the member has another epoch since; the commit is made again with that"


class EpochCommits(OffsetCommits):
    """Commits offsets for one member, in the epoch that it has."""

    @property
    def _versions(self) -> Versions:
        """Return the versions that brokers take from such members."""
        return Versions(_FIRST_WITH_EPOCHS, LAST_WITH_NAMES)

    def _refused(self, sent: Generation, error_code: int) -> KdiagError:
        """Return the error for an error code."""
        error = error_name(error_code)
        if error == "STALE_MEMBER_EPOCH":
            return GroupError(self._settings.group_id, error, _WHY_STALE, is_retriable=True)
        if error == "FENCED_MEMBER_EPOCH":
            return self._refused_member(sent, error)
        return super()._refused(sent, error_code)

    def _refused_member(self, sent: Generation, error: str) -> KdiagError:
        """Return the error for a member that the coordinator does not know, or not as this."""
        if error == "FENCED_INSTANCE_ID" and self._membership.generation == sent:
            return named_refusal(self._settings, error)
        why = self._expelled(f"the coordinator answers {error}")
        return CommitFailedError(self._settings.group_id, error, why)
