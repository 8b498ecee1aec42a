import re

from kdiag.wire import api_keys
from kdiag.wire.catalog import APIS


def test_every_api_has_a_constant_with_its_key() -> None:
    """`api_keys.FIND_COORDINATOR` is 10, as Kafka's `ApiKeys` has it."""
    constants = {name: key for name, key in vars(api_keys).items() if name.isupper()}
    words = {api.key: re.sub(r"(?<=[a-z])(?=[A-Z])", "_", api.name).upper() for api in APIS}
    assert {key: name for name, key in constants.items()} == words
