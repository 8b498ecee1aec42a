"""The body of a request or response in kdiag's JSON: Kafka's own JSON with three additions.

Unknown tagged fields are shown, `records` fields become lists of batches, and messages inside
messages are decoded in place. The raw form has only the first. Secrets are replaced in all forms.
"""

from collections.abc import Callable
from copy import deepcopy
from functools import cache, partial
from typing import Any, Final, NamedTuple, TypeAlias

from kdiag.errors import DecodeError
from kdiag.exchange.context.topic_names import TopicNames
from kdiag.exchange.dissection import Dissection
from kdiag.exchange.documents.large_body import CHUNK, LARGE_BYTES, Defer, LargeForm, RecordFields
from kdiag.exchange.documents.records import batch_json, records_json, replace
from kdiag.exchange.embedded import (
    CONSUMER,
    Forwarded,
    read_assignment,
    read_forwarded_request,
    read_forwarded_response,
    read_principal,
    read_subscription,
)
from kdiag.exchange.secrets.redaction import CONFIGS, REDACTED, SECRETS, has_secrets, redact_body
from kdiag.exchange.side import Side, Why
from kdiag.wire import api_keys
from kdiag.wire.codec.json_form import json_former, to_json
from kdiag.wire.records.batch import RecordBatch
from kdiag.wire.records.internal import CLUSTER_METADATA
from kdiag.wire.schema import Struct

_RECORDS: Final = {
    (api_keys.PRODUCE, False): ("topicData", "partitionData"),
    (api_keys.FETCH, True): ("responses", "partitions"),
    (api_keys.SHARE_FETCH, True): ("responses", "partitions"),
}
"""The arrays that lead to the `records` fields, by (API key, whether it is the response)."""

MakeRecords: TypeAlias = Callable[[RecordBatch, str | None, bool], object]


class BodyForm(NamedTuple):
    """The form in which bodies are shown.

    Attributes:
        raw: whether to show Kafka's exact JSON, with record batches and nested messages in base64.
        values: whether to show the records in the batches.
        show_secrets: whether to show passwords and tokens.
    """

    raw: bool = False
    values: bool = False
    show_secrets: bool = False


class Bodies:
    """Makes the JSON of bodies."""

    def __init__(
        self,
        names: TopicNames,
        form: BodyForm,
        make_records: MakeRecords = records_json,
        defer: Defer | None = None,
    ) -> None:
        """Make bodies in one form.

        Args:
            names: the names of topic ids.
            form: the form.
            make_records: returns the JSON for the records of a batch (batch, topic, whether to
                show secrets); raises DecodeError if they are wrong.
            defer: makes placeholders for elements of long arrays; None to make all at once.
        """
        self._defer = defer
        self._names = names
        self._form = form
        self._make_records = make_records

    def make(
        self, dissection: Dissection, side: Side, *, is_response: bool
    ) -> tuple[dict[str, Any] | None, Why | None]:
        """Return the body of a side, and the fault of the records in it, if there is one.

        Args:
            dissection: the exchange of the side.
            side: its request or response.
            is_response: whether it is the response.
        """
        message = side.message
        if message is None:
            return None, None
        api_key = dissection.exchange.api_key
        assert api_key is not None
        cls: type[Struct] = type(message)
        recipe = _recipe(cls, side.version, api_key, is_response)
        if side.frame.size >= LARGE_BYTES and self._is_large(side, recipe):
            return self._large(message, side, recipe), None
        body = recipe.form(message) if side.body is None else deepcopy(side.body)
        if recipe.is_plain:
            return body, None
        if recipe.has_secrets and not self._form.show_secrets:
            redact_body(api_key, body, is_response=is_response)
        if recipe.arrays is not None:
            return body, self._put_records(body, side, recipe.arrays)
        if recipe.is_envelope:
            self._open_envelope(dissection, body, is_response=is_response)
        elif recipe.nest is not None and not self._form.raw:
            recipe.nest(dissection, body)
        return body, None

    def _is_large(self, side: Side, recipe: "_Recipe") -> bool:
        """Return whether a body of many bytes is made in pieces: it must need no change."""
        return (
            self._defer is not None
            and side.body is None
            and not self._form.values
            and not recipe.is_envelope
            and (recipe.nest is None or self._form.raw)
            and (not recipe.has_secrets or self._form.show_secrets)
        )

    def _large(self, message: Struct, side: Side, recipe: "_Recipe") -> dict[str, Any]:
        """Return a large body with placeholders for most of it."""
        assert self._defer is not None
        if recipe.arrays is None:
            return LargeForm(type(message), side.version, self._defer).form(message)
        records = RecordFields(message, side.batches, recipe.arrays)

        def finish(form: dict[str, Any], of: Struct, around: tuple[Any, ...]) -> None:
            for topic, partition, batches in records.of(form, of, around):
                self._put_batches(topic, partition, batches)

        return LargeForm(type(message), side.version, self._defer, finish).form(message)

    def _put_batches(
        self, topic: dict[str, Any], partition: dict[str, Any], batches: list[RecordBatch]
    ) -> None:
        """Replace the `records` field of a partition by the headers of its batches."""
        if self._form.raw:
            partition["records"] = bytes(partition["records"])
            self._hide_metadata(topic, partition)
        elif self._defer is None or len(batches) <= CHUNK:
            partition["records"] = _batch_forms(batches)
        else:
            starts = range(0, len(batches), CHUNK)
            partition["records"] = [
                self._defer(partial(_batch_forms, batches[start : start + CHUNK]))
                for start in starts
            ]

    def _put_records(self, body: dict[str, Any], side: Side, arrays: tuple[str, str]) -> Why | None:
        """Replace the `records` fields; return the first fault in them."""
        outer, inner = arrays
        fields = iter(side.batches)
        first: Why | None = None
        for i, topic in enumerate(body.get(outer) or ()):
            for j, partition in enumerate(topic.get(inner) or ()):
                batches = next(fields)
                if batches is None or "records" not in partition:
                    continue
                if self._form.raw or (not self._form.values and len(batches) > CHUNK):
                    self._put_batches(topic, partition, batches)
                elif not self._form.values:
                    partition["records"] = [batch_json(batch) for batch in batches]
                else:
                    partition["records"] = forms = _batch_forms(batches)
                    why = self._put_values(batches, forms, self._name(topic))
                    if why is not None and first is None:
                        path = f"{outer}[{i}].{inner}[{j}].records"
                        first = _in_frame(why, side, batches[0], path)
        return first

    def _hide_metadata(self, topic: dict[str, Any], partition: dict[str, Any]) -> None:
        """Redact raw records of the metadata log: they may hold SCRAM credentials."""
        if not self._form.show_secrets and self._name(topic) == CLUSTER_METADATA:
            partition["records"] = REDACTED

    def _put_values(
        self, batches: list[RecordBatch], forms: list[dict[str, Any]], topic: str | None
    ) -> Why | None:
        """Add the records to each batch; return the first fault."""
        first = None
        for index, (batch, form) in enumerate(zip(batches, forms, strict=True)):
            try:
                form["records"] = self._make_records(batch, topic, self._form.show_secrets)
            except DecodeError as error:
                form["records"] = []
                path = f"[{index}].{error.path}" if error.path else f"[{index}]"
                reason = f"{error.why} (byte {error.offset})"
                first = first or Why(batch.start, path, reason)
        return first

    def _name(self, topic: dict[str, Any]) -> str | None:
        """Return the topic name of an element of Produce's or Fetch's topics."""
        name: str | None = topic.get("topic") or topic.get("name")
        return name or self._names.name(topic.get("topicId", ""))

    def _open_envelope(
        self, dissection: Dissection, body: dict[str, Any], *, is_response: bool
    ) -> None:
        """Decode the request or response in an Envelope, in place."""
        name = "responseData" if is_response else "requestData"
        asked = dissection.request
        data = body.get(name)
        if not isinstance(data, bytes):
            return
        request: bytes = asked.message.request_data if asked and asked.message else b""
        if is_response:
            found = read_forwarded_response(data, request)
        else:
            found = read_forwarded_request(data)
        if self._form.raw or found is None:
            is_safe = found is not None and not has_secrets(found.api.key)
            if not is_safe and not self._form.show_secrets:
                body[name] = REDACTED
            return
        body[name] = self._forwarded(found, is_response=is_response)
        replace(body, "requestPrincipal", read_principal)

    def _forwarded(self, found: Forwarded, *, is_response: bool) -> dict[str, Any]:
        api, header, message = found
        inner = to_json(message, header.version)
        if not self._form.show_secrets:
            redact_body(api.key, inner, is_response=is_response)
        return {
            "apiKey": api.key,
            "api": api.name,
            "version": header.version,
            "correlationId": header.correlation_id,
            "clientId": header.client_id,
            "body": inner,
        }


def _batch_forms(batches: list[RecordBatch]) -> list[dict[str, Any]]:
    """Return the headers of batches."""
    return [batch_json(batch) for batch in batches]


def _in_frame(why: Why, side: Side, batch: RecordBatch, path: str) -> Why:
    """Return a fault in a `records` field as one in the frame."""
    start = max(side.frame.data.find(batch.data, side.body_offset), 0)
    return Why(start + why.offset, path + why.path, why.reason)


def _nest_join_request(_: Dissection, body: dict[str, Any]) -> None:
    if body.get("protocolType") == CONSUMER:
        for protocol in body.get("protocols") or ():
            replace(protocol, "metadata", read_subscription)


def _nest_join_response(dissection: Dissection, body: dict[str, Any]) -> None:
    protocol_type = body.get("protocolType")
    request = dissection.request
    if protocol_type is None and request is not None and request.message is not None:
        protocol_type = request.message.protocol_type
    if protocol_type == CONSUMER:
        for member in body.get("members") or ():
            replace(member, "metadata", read_subscription)


def _nest_sync_request(_: Dissection, body: dict[str, Any]) -> None:
    # Before version 5 there is no type: bytes that fit to the last one are an assignment.
    if body.get("protocolType") in (CONSUMER, None):
        for each in body.get("assignments") or ():
            replace(each, "assignment", read_assignment)


def _nest_sync_response(_: Dissection, body: dict[str, Any]) -> None:
    if body.get("protocolType") in (CONSUMER, None):
        replace(body, "assignment", read_assignment)


def _nest_described_groups(_: Dissection, body: dict[str, Any]) -> None:
    for group in body.get("groups") or ():
        if group.get("protocolType") == CONSUMER:
            for member in group.get("members") or ():
                replace(member, "memberMetadata", read_subscription)
                replace(member, "memberAssignment", read_assignment)


_Nest: TypeAlias = Callable[[Dissection, dict[str, Any]], None]
_NESTED: Final[dict[tuple[int, bool], _Nest]] = {
    (api_keys.JOIN_GROUP, False): _nest_join_request,
    (api_keys.JOIN_GROUP, True): _nest_join_response,
    (api_keys.SYNC_GROUP, False): _nest_sync_request,
    (api_keys.SYNC_GROUP, True): _nest_sync_response,
    (api_keys.DESCRIBE_GROUPS, True): _nest_described_groups,
}


class _Recipe(NamedTuple):
    """The steps that make the body of a message of one class and version.

    Attributes:
        form: returns Kafka's own JSON.
        is_plain: whether that is the only step.
        has_secrets: whether something may have to be redacted.
        arrays: the arrays that lead to `records` fields.
        nest: decodes messages in the message.
        is_envelope: whether it holds a whole request or response.
    """

    form: Callable[[Any], dict[str, Any]]
    is_plain: bool
    has_secrets: bool
    arrays: tuple[str, str] | None
    nest: _Nest | None
    is_envelope: bool


@cache
def _recipe(cls: type[Struct], version: int, api_key: int, is_response: bool) -> _Recipe:  # noqa: FBT001 - cache key
    kind = api_key, is_response
    has_secrets = kind in SECRETS or kind in CONFIGS
    arrays, nest, is_envelope = _RECORDS.get(kind), _NESTED.get(kind), api_key == api_keys.ENVELOPE
    is_plain = not (has_secrets or arrays or nest or is_envelope)
    return _Recipe(json_former(cls, version), is_plain, has_secrets, arrays, nest, is_envelope)
