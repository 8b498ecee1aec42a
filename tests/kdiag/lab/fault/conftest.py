"""Requests as faults see them."""

from collections.abc import Callable

import pytest

from kdiag.lab.fault.fault_plan import FaultCall
from kdiag.lab.fault.request_subject import RequestSubjects
from kdiag.wire.catalog import API_BY_KEY
from kdiag.wire.schema import Struct, info_of

MakeCall = Callable[..., FaultCall]


@pytest.fixture
def call_of() -> MakeCall:
    """Return a function that makes a call of a request."""

    def make(
        request: Struct, version: int | None = None, node: int = 1, connection: str = "1"
    ) -> FaultCall:
        key = info_of(type(request)).api_key
        assert key is not None
        api = API_BY_KEY[key]
        subject = RequestSubjects(lambda _: None).read(connection, request)
        number = api.versions.high if version is None else version
        return FaultCall(api, number, "app-1", node, connection, request, subject)

    return make
