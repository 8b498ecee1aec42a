"""ConsumerGroupHeartbeat: a member of a consumer group joins, stays or leaves (KIP-848).

Behaviour: the one request of these members. Each is told its epoch, when to send the next, and what
it has if that changes, or if it says everything of itself.

    epoch 0, says what it reads            joins
    another epoch than is known            FENCED_MEMBER_EPOCH: give up everything, join again
    a name that another has not released   UNRELEASED_INSTANCE_ID
    an assignor that there is not          UNSUPPORTED_ASSIGNOR
    a pattern that cannot be read          INVALID_REGULAR_EXPRESSION
    no such group, no such member          GROUP_ID_NOT_FOUND, UNKNOWN_MEMBER_ID

Version notes: 1 has patterns of names, and the client makes its id (KIP-1082).

Source: Kafka's `KafkaApis.handleConsumerGroupHeartbeat`.

Leaves out: a group that has members by JoinGroup does not change over (KIP-848, online migration):
it is GROUP_ID_NOT_FOUND until it is empty. The settings of groups (KIP-848, `group` resources) are
those of the broker.
"""

from kdiag.lab.api.call import ApiCall
from kdiag.wire.api.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest


def handle(request: ConsumerGroupHeartbeatRequest, call: ApiCall) -> None:
    """Take a heartbeat, and answer when what comes of it is written.

    Args:
        request: the member, its epoch; what has changed since it was sent last.
        call: of it.
    """
    call.node.groups.consumer_heartbeat(request, call.group_client, call.respond)
