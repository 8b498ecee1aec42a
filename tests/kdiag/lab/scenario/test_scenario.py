from typing import Any, Final

import msgspec

from kdiag.lab.scenario import scenario

KINDS: Final[dict[str, tuple[dict[str, Any], type]]] = {
    "producer": ({"topic": "orders"}, scenario.ProducerClient),
    "transaction": ({"topic": "orders", "transactional_id": "payer"}, scenario.TransactionClient),
    "member": ({"group": "billing", "topics": ["orders"]}, scenario.MemberClient),
    "reader": ({"topic": "orders"}, scenario.ReaderClient),
    "requests": ({"api": "Metadata", "version": 12}, scenario.RequestsClient),
    "command": ({"command": ["true"]}, scenario.CommandClient),
}


def test_a_client_is_of_the_kind_that_it_names() -> None:
    """It needs nothing but what only its writer knows, and is the same when written again."""
    for kind, (needed, expected) in KINDS.items():
        given = {"kind": kind, "name": "one", **needed}
        client: Any = msgspec.convert(given, scenario.ScenarioClient)
        assert type(client) is expected, kind
        again = msgspec.convert(msgspec.to_builtins(client), type(client))
        assert again == client, kind
