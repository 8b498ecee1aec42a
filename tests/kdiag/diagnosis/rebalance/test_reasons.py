from kdiag.diagnosis.rebalance.model import CauseKind
from kdiag.diagnosis.rebalance.reasons import FOLLOWS, Trigger, cause_of_client, trigger_of_broker
from tiers.cases import for_each

ID = "consumer-orders-1-8c7975b8-ba69-4368-a6db-a451b2d5d3f0"
TIMED_OUT = "consumer poll timeout has expired."
CHANGED = "cached metadata has changed from (version1: {}) at the beginning of the rebalance"
POD = "instance id pod-1 joined with change of protocol; client reason: not provided"
REVOKE = "need to revoke partitions and re-join"


@for_each(
    ("text", "trigger"),
    [
        (
            f"Adding new member {ID} with group instance id null; client reason: not provided",
            Trigger(CauseKind.MEMBER_JOINED, ID, None, None),
        ),
        (
            f"Adding new member {ID} with group instance id pod-1; client reason: null",
            Trigger(CauseKind.MEMBER_JOINED, ID, "pod-1", None),
        ),
        (
            f"Adding new member {ID} with group instance id None",
            Trigger(CauseKind.MEMBER_JOINED, ID, None, None),
        ),
        (
            f"removing member {ID} on heartbeat expiration.",
            Trigger(CauseKind.MEMBER_FAILED, ID, None, None),
        ),
        (
            f"removing member {ID} on heartbeat expiration",
            Trigger(CauseKind.MEMBER_FAILED, ID, None, None),
        ),
        (
            f"Removing member {ID} on LeaveGroup; client reason: the consumer is being closed",
            Trigger(CauseKind.MEMBER_LEFT, ID, None, "the consumer is being closed"),
        ),
        (
            f"Removing member {ID} on LeaveGroup; client reason: {TIMED_OUT}",
            Trigger(CauseKind.POLL_TIMEOUT, ID, None, TIMED_OUT),
        ),
        (
            f"explicit `LeaveGroup` request for ({ID}) members.",
            Trigger(CauseKind.MEMBER_LEFT, ID, None, None),
        ),
        (
            f"Leader {ID} re-joining group during Stable; client reason: {CHANGED}",
            Trigger(
                CauseKind.PARTITIONS_CHANGED,
                ID,
                None,
                CHANGED,
            ),
        ),
        (
            f"Leader {ID} re-joining group during Stable; client reason: {REVOKE}",
            Trigger(CauseKind.MEMBER_REJOINED, ID, None, REVOKE),
        ),
        (
            f"leader {ID} re-joining group",
            Trigger(CauseKind.MEMBER_REJOINED, ID, None, None),
        ),
        (
            f"Updating metadata for member {ID} during Stable; client reason: not provided",
            Trigger(CauseKind.SUBSCRIPTION_CHANGED, ID, None, None),
        ),
        (
            f"Updating metadata for static member {ID} with instance id pod-1",
            Trigger(CauseKind.STATIC_MEMBER_RETURNED, ID, "pod-1", None),
        ),
        (
            f"Group's selectedProtocol will change because static member {ID} with {POD}",
            Trigger(CauseKind.ASSIGNOR_CHANGED, ID, "pod-1", None),
        ),
        (
            f"Removing {ID} on pending sync request expiration",
            Trigger(CauseKind.MEMBER_FAILED, ID, None, None),
        ),
        (
            "the moon was full",
            Trigger(CauseKind.UNKNOWN, None, None, "the moon was full"),
        ),
    ],
)
def test_what_brokers_write_names_cause_and_member(text: str, trigger: Trigger) -> None:
    """Of Kafka 2.x to 4.x; an unknown text is kept as the reason of an unknown cause."""
    assert trigger_of_broker(text) == trigger


@for_each(
    ("reason", "cause"),
    [
        ("consumer poll timeout has expired.", CauseKind.POLL_TIMEOUT),
        ("subscription has changed from [a] at the beginning to [a, b]", "subscription_changed"),
        ("rebalance enforced by user", CauseKind.MEMBER_REJOINED),
        ("the consumer is being closed", None),
        ("", None),
        (None, None),
    ],
)
def test_what_clients_give_as_reasons(reason: str | None, cause: str | None) -> None:
    """KIP-800; what says no more than that it leaves is no cause of its own."""
    assert cause_of_client(reason) == cause


def test_a_member_that_follows_a_rebalance_causes_none() -> None:
    """It says so itself."""
    assert FOLLOWS.search("rebalance failed due to MemberIdRequiredException")
    assert FOLLOWS.search("group is already rebalancing")
    assert not FOLLOWS.search("need to re-join with the given member-id: x")
