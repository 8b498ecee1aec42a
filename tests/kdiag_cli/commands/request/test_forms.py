"""Templates and fields, as they are printed."""

import json

from kdiag.wire.catalog import api_named
from kdiag_cli.commands.request.forms import pretty
from programs.kdiag_program import kdiag


def test_a_template_is_json_that_is_taken_as_it_is() -> None:
    """What is printed can be filled in and sent."""
    template = kdiag("request", "Fetch", "--template", "-V", "12").out
    done = kdiag("request", "Fetch", template, "-V", "12", "--dry-run")
    assert (done.code, done.out, done.err) == (0, template, "")


def test_fields_for_programs_are_one_document() -> None:
    """Defaults are values of JSON."""
    document = json.loads(kdiag("request", "ListGroups", "--fields", "-o", "json").out)
    assert (document["schema"], document["command"]) == (1, "request")
    assert document["data"][0] == {
        "path": "statesFilter",
        "type": "[]string",
        "versions": "4-5",
        "nullable": None,
        "tag": None,
        "default": [],
    }


def test_fields_of_a_version_are_its_own() -> None:
    """Objects have no default of their own."""
    lines = kdiag("request", "Fetch", "--fields", "-V", "0").out.splitlines()[1:]
    assert lines[:3] == [
        "replicaId\tint32\t0-14\t-\t-\t-1",
        "maxWaitMs\tint32\t0-18\t-\t-\t0",
        "minBytes\tint32\t0-18\t-\t-\t0",
    ]
    assert "topics\t[]object\t0-18\t-\t-\t-" in lines


def test_json_for_people_has_a_field_a_line() -> None:
    """Bytes are base64."""
    assert pretty({"a": b"x", "b": [1]}) == b'{\n  "a": "eA==",\n  "b": [\n    1\n  ]\n}'


def test_a_field_is_listed_where_the_request_has_it() -> None:
    """The list is that of the message."""
    api = api_named("ListGroups")
    assert api is not None
    assert kdiag("request", "ListGroups", "--fields", "-V", "0").out.count("\n") == 1
