"""The source of encoders: one flat Python function for each message in each version.

How it works. `encode(m, w)` passes pieces of the message to `w`, the `append` of a list that the
caller joins. Values of fixed size that follow one another, length prefixes and empty tag sections
included, become a single `pack`; arrays become loops, nested structs are inlined.

A value that cannot be written (a null in a field that is not nullable, a number out of range, a
set field that the version lacks) makes the function raise one of `REFUSALS`; `codec.encode_check`
then finds the field at fault.
"""

import struct
from struct import Struct as Layout
from typing import Any, Final

from kdiag.wire.codec.layout import is_fixed, is_flexible, tagged, untagged
from kdiag.wire.codec.source import FunctionSource
from kdiag.wire.primitives import (
    COMPACT_PACKERS,
    FORMATS,
    ONE_BYTE,
    PACKERS,
    SIZES,
    RefusedError,
    merge_tags,
    tag_section,
    uvarint,
)
from kdiag.wire.schema import Field, Kind, Struct, fields_of

REFUSALS: Final = (
    struct.error,
    AttributeError,
    TypeError,
    UnicodeEncodeError,
    OverflowError,
    RefusedError,
)


class EncoderSource(FunctionSource):
    """Writes `encode(m, w)`."""

    def __init__(self, cls: type[Struct], version: int, *, errors: str) -> None:
        self.version = version
        self.flexible = is_flexible(cls, version)
        names: dict[str, Any] = {
            "uv": uvarint,
            "U": ONE_BYTE,
            "merge_tags": merge_tags,
            "tag_section": tag_section,
            "Refused": RefusedError,
        }
        super().__init__("def encode(m, w):", names)
        self._encode = ".encode()" if errors == "strict" else f'.encode("utf-8", "{errors}")'
        self._run: list[tuple[str, str]] = []
        self._writer = "w"
        self._struct(cls, "m")
        self._flush()

    def _packed(self) -> str:
        """Return an expression for the pending fixed-size values, and clear them."""
        layout = Layout(">" + "".join(letters for letters, _ in self._run))
        values = [value for _, value in self._run if value]
        self._run.clear()
        if not values:
            return repr(bytes(layout.size))
        return f"{self.bind('p', layout.pack)}({', '.join(values)})"

    def _flush(self) -> None:
        if self._run:
            self.line(f"{self._writer}({self._packed()})")

    def _varint(self, value: str) -> None:
        """Write an unsigned varint, together with the pending values if it has one byte."""
        if not self._run:
            self.line(f"{self._writer}(U[{value}] if {value} < 128 else uv({value}))")
            return
        run = list(self._run)
        self._run.append(("B", value))
        self.line(f"if {value} < 128:")
        self.line(f"    {self._writer}({self._packed()})")
        self._run.extend(run)
        self.line("else:")
        self.line(f"    {self._writer}({self._packed()})")
        self.line(f"    {self._writer}(uv({value}))")

    def _struct(self, cls: type[Struct], source: str) -> None:
        """Write the struct in the variable `source`."""
        self._refuse_absent(cls, source)
        for field in untagged(cls, self.version):
            self._value(field, f"{source}.{field.name}")
        if not self.flexible:
            return
        known = tagged(cls, self.version)
        if known:
            self._known_tags(known, source)
            return
        self.line(f"if {source}.unknown_tagged_fields:")
        self.depth += 1
        pending = list(self._run)
        self._run.clear()
        self._write_after(pending, f"tag_section({source}.unknown_tagged_fields)")
        self.depth -= 1
        self.line("else:")
        self.line(f"    {self._writer}({self._with_zero(pending)})")

    def _with_zero(self, pending: list[tuple[str, str]]) -> str:
        self._run = [*pending, ("x", "")]
        return self._packed()

    def _write_after(self, pending: list[tuple[str, str]], expression: str) -> None:
        """Write pending values, then an expression."""
        self._run = list(pending)
        self._flush()
        self.line(f"{self._writer}({expression})")

    def _refuse_absent(self, cls: type[Struct], source: str) -> None:
        """Write the refusal of fields that are set although the version lacks them."""
        for field in fields_of(cls):
            if not field.is_in(self.version) and not field.is_ignorable:
                self.line(f"if {self._differs(field, source)}:")
                self.line("    raise Refused")
        if not self.flexible:
            self.line(f"if {source}.unknown_tagged_fields:")
            self.line("    raise Refused")

    def _differs(self, field: Field, source: str) -> str:
        """Return the condition that a field is not at its default."""
        value, default = f"{source}.{field.name}", field.default
        if default is None:
            return f"{value} is not None"
        if default is True:
            return f"not {value}"
        if default is False:
            return value
        if default in ([], ""):
            return f"{value} or {value} is None"
        literal = repr(default) if isinstance(default, int) else self.bind("k", default)
        return f"{value} != {literal}"

    def _known_tags(self, known: list[Field], source: str) -> None:
        """Write a tag section in which some tags are known."""
        tags = self.new("t")
        self.line(f"{tags} = {{}}")
        self._flush()
        for field in known:
            self.line(f"if {self._differs(field, source)}:")
            self.depth += 1
            outer, parts = self._writer, self.new("l")
            self._writer = self.new("w")
            self.line(f"{parts} = []")
            self.line(f"{self._writer} = {parts}.append")
            self._value(field, f"{source}.{field.name}")
            self._flush()
            self.line(f'{tags}[{field.tag}] = b"".join({parts})')
            self._writer = outer
            self.depth -= 1
        unknown = f"{source}.unknown_tagged_fields"
        self.line(f"if {tags} or {unknown}:")
        numbers = self.bind("g", frozenset(field.tag for field in known))
        self.line(f"    {self._writer}(merge_tags({tags}, {unknown}, {numbers}))")
        self.line("else:")
        self.line(f"    {self._writer}(U[0])")

    def _value(self, field: Field, source: str) -> None:
        """Write the field with the value of the expression `source`."""
        if is_fixed(field):
            self._run.append((FORMATS[field.kind], source))  # type: ignore[index]  # a Kind
        elif field.is_array:
            self._array(field, source)
        elif isinstance(field.kind, Kind):
            self._text_or_bytes(field, source)
        else:
            self._nested(field, field.kind, source)

    def _nested(self, field: Field, kind: type[Struct], source: str) -> None:
        value = source if source.isidentifier() else self.new()
        if value != source:
            self.line(f"{value} = {source}")
        if not field.is_nullable_in(self.version):
            self._struct(kind, value)
            return
        is_tagged = field.is_tagged_in(self.version)
        self._branch_on_null(value, "b", "0" if is_tagged else "-1")
        self._run.append(("b", "1"))
        self._struct(kind, value)
        self._flush()
        self.depth -= 1

    def _branch_on_null(self, value: str, letter: str, null: str) -> None:
        """Write the null prefix; the branch for other values follows."""
        pending = list(self._run)
        self.line(f"if {value} is None:")
        self.depth += 1
        self._run.append((letter, null))
        self._flush()
        self.depth -= 1
        self.line("else:")
        self.depth += 1
        self._run = pending

    def _begin_sized(self, field: Field, value: str, *, compact: bool) -> bool:
        """Write the branch for null as a length, if null is allowed; return whether it is."""
        if not field.is_nullable_in(self.version):
            return False
        letter = self._length_letter(field)
        self._branch_on_null(value, "B" if compact else letter, "0" if compact else "-1")
        return True

    def _end_sized(self, *, is_branch: bool) -> None:
        if is_branch:
            self._flush()
            self.depth -= 1

    def _length_letter(self, field: Field) -> str:
        return "h" if field.kind is Kind.STRING and not field.is_array else "i"

    def _text_or_bytes(self, field: Field, source: str) -> None:
        value, length = self.new(), self.new("n")
        compact = self.flexible and not field.is_never_compact
        self.line(f"{value} = {source}")
        is_branch = self._begin_sized(field, value, compact=compact)
        if field.kind is Kind.STRING:
            self.line(f"{value} = {value}{self._encode}")
        if compact:
            self.line(f"{length} = len({value}) + 1")
            self._varint(length)
        else:
            self._run.append((self._length_letter(field), f"len({value})"))
            self._flush()
        self.line(f"{self._writer}({value})")
        self._end_sized(is_branch=is_branch)

    def _array(self, field: Field, source: str) -> None:
        value = self.new()
        self.line(f"{value} = {source}")
        is_branch = self._begin_sized(field, value, compact=self.flexible)
        if field.kind is Kind.UUID:
            self._count_prefix(value)
            self.line(f'{self._writer}(b"".join({value}))')
        elif field.kind in SIZES:
            self._fixed_elements(field, value)
        else:
            self._count_prefix(value)
            element = self.new("e")
            self.line(f"for {element} in {value}:")
            self.depth += 1
            self._value(field._replace(is_array=False, nullable=()), element)
            self._flush()
            self.depth -= 1
        self._end_sized(is_branch=is_branch)

    def _count_prefix(self, value: str) -> None:
        """Write the count of an array and the pending values."""
        if not self.flexible:
            self._run.append(("i", f"len({value})"))
            self._flush()
            return
        count = self.new("n")
        self.line(f"{count} = len({value}) + 1")
        self._varint(count)

    def _fixed_elements(self, field: Field, value: str) -> None:
        """Write an array of numbers, count included, in one call."""
        assert isinstance(field.kind, Kind)
        self._flush()
        count = self.new("n")
        self.line(f"{count} = len({value})")
        if not self.flexible:
            packers = self.bind("a", PACKERS[field.kind])
            self.line(f"{self._writer}({packers}[{count}]({count}, *{value}))")
            return
        packers = self.bind("a", COMPACT_PACKERS[field.kind])
        self.line(f"if {count} < 127:")
        self.line(f"    {self._writer}({packers}[{count}]({count} + 1, *{value}))")
        self.line("else:")
        plain = self.bind("a", PACKERS[field.kind])
        self.line(f"    {self._writer}(uv({count} + 1))")
        self.line(f"    {self._writer}({plain}[{count}]({count}, *{value})[4:])")
