from kdiag.lab.coordinator.group.consumer.assignor.group_spec import MemberSpec, are_alike

ORDERS, PAYMENTS = b"o" * 16, b"p" * 16


def test_members_are_alike_that_read_the_same() -> None:
    """Whatever they had."""
    one = MemberSpec(frozenset({ORDERS, PAYMENTS}))
    assert are_alike({})
    assert are_alike({"a": one, "b": MemberSpec(frozenset({PAYMENTS, ORDERS}), instance_id="b")})
    assert not are_alike({"a": one, "b": MemberSpec(frozenset({ORDERS}))})
