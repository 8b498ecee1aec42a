"""The source of decoders: one flat Python function for each message in each version.

How it works. Fields of fixed size that follow one another become a single
`Struct.unpack_from`; the length prefix of a string or array that follows joins them. Arrays become
loops, nested structs are inlined, varints of one or two bytes are read without a call.
ApiVersionsResponse in version 3 starts like this:

    def decode(d, p, end):
        v1, n3, = s5(d, p)
        p += 3
        if n3 > 127:
            b = d[p]
            if b < 128:
                n3 += (b - 1) << 7
                p += 1
            else:
                n3, p = uv(d, p - 1)
        n3 -= 1
        ...

Such a function raises IndexError, struct.error or RefusedError for wrong bytes, never reads past
`end`, and checks each count against the bytes that remain before anything is allocated.
"""

from struct import Struct as Layout
from typing import Any

from kdiag.wire import primitives
from kdiag.wire.codec.layout import (
    element_bytes,
    is_fixed,
    is_flexible,
    tagged,
    untagged,
)
from kdiag.wire.codec.source import FunctionSource
from kdiag.wire.primitives import FORMATS, SIZES, UNPACKERS, RefusedError
from kdiag.wire.schema import Field, Kind, Struct, fields_of, is_batches


class DecoderSource(FunctionSource):
    """Writes `decode(d, p, end) -> (message, position)`."""

    def __init__(
        self, cls: type[Struct], version: int, *, errors: str, views: bool = False
    ) -> None:
        self.version = version
        self.flexible = is_flexible(cls, version)
        names: dict[str, Any] = {
            "uv": primitives.read_uvarint,
            "tag_count": primitives.read_tag_count,
            "tag_head": primitives.read_tag_head,
            "unknown_tags": primitives.read_unknown_tags,
            "Refused": RefusedError,
            "view": primitives.view_if_large,
        }
        super().__init__("def decode(d, p, end):", names)
        self._decode = ".decode()" if errors == "strict" else f'.decode("utf-8", "{errors}")'
        self._views = views
        self._run: list[tuple[str, str]] = []
        result = self._struct(cls)
        self.line(f"return {result}, p")

    def _flush(self) -> None:
        """Write the pending fixed-size reads as one unpack."""
        if not self._run:
            return
        layout = Layout(">" + "".join(letters for letters, _ in self._run))
        targets = ", ".join(target for _, target in self._run)
        if layout.format == ">B":
            self.line(f"{targets} = d[p]")
        else:
            unpack = self.bind("s", layout.unpack_from)
            self.line(f"{targets}, = {unpack}(d, p)")
        self.line(f"p += {layout.size}")
        self._run.clear()

    def _struct(self, cls: type[Struct]) -> str:
        """Write the code that reads a struct; return the name of its variable."""
        values = {field.name: self._value(field) for field in untagged(cls, self.version)}
        known = tagged(cls, self.version) if self.flexible else []
        for field in known:
            values[field.name] = self.new()
        arguments = self._arguments(cls, values)
        result = self.new("o")
        if known:
            self._known_tags(known, values)
            self.line(f"{result} = {arguments}")
            self.line("if u:")
            self.line(f"    {result}.unknown_tagged_fields = u")
        elif self.flexible:
            self._no_known_tags(result, arguments)
        else:
            self._flush()
            self.line(f"{result} = {arguments}")
        return result

    def _arguments(self, cls: type[Struct], values: dict[str, str]) -> str:
        """Return the arguments of the constructor, without trailing defaults."""
        arguments = [values.get(field.name, "") for field in fields_of(cls)]
        while arguments and not arguments[-1]:
            arguments.pop()
        filled = [
            argument or self._default(field)
            for argument, field in zip(arguments, fields_of(cls), strict=False)
        ]
        return f"{self.bind('C', cls)}({', '.join(filled)})"

    def _default(self, field: Field) -> str:
        """Return an expression for a field's default; a new object if it is mutable."""
        if isinstance(field.default, list):
            return "[]"
        if isinstance(field.default, Struct):
            return f"{self.bind('C', type(field.default))}()"
        if field.default is None or isinstance(field.default, int | str | bytes):
            return repr(field.default)
        return self.bind("k", field.default)

    def _tag_count_byte(self) -> str:
        count = self.new("n")
        self._run.append(("B", count))
        self._flush()
        return count

    def _no_known_tags(self, result: str, arguments: str) -> None:
        count = self._tag_count_byte()
        call = arguments[:-1] + (", " if arguments[-2] != "(" else "")
        self.line(f"if {count}:")
        self.line(f"    u, p = unknown_tags(d, p, {count})")
        self.line(f"    {result} = {call}unknown_tagged_fields=u)")
        self.line("else:")
        self.line(f"    {result} = {arguments}")

    def _known_tags(self, known: list[Field], values: dict[str, str]) -> None:
        """Write the code that reads a tag section with known tags."""
        count = self._tag_count_byte()
        for field in known:
            self.line(f"{values[field.name]} = {self._default(field)}")
        unknown, end, tag = self.new("u"), self.new("e"), self.new("t")
        self.line(f"{unknown} = None")
        self.line(f"if {count}:")
        self.depth += 1
        self.line(f"{count}, p = tag_count(d, p, {count})")
        self.line(f"{unknown} = {{}}")
        self.line(f"for _ in range({count}):")
        self.depth += 1
        self.line(f"{tag}, {end}, p = tag_head(d, p)")
        for index, field in enumerate(known):
            self.line(f"{'elif' if index else 'if'} {tag} == {field.tag}:")
            self.depth += 1
            value = self._value(field)
            self._flush()
            self.line(f"{values[field.name]} = {value}")
            self.line(f"if p != {end}:")
            self.line("    raise Refused")
            self.depth -= 1
        self.line("else:")
        self.line(f"    {unknown}[{tag}] = d[p:{end}]")
        self.line(f"    p = {end}")
        self.depth -= 2
        self.line(f"u = {unknown}")

    def _value(self, field: Field) -> str:
        """Write the code that reads one field; return the name of its variable."""
        if is_fixed(field):
            target = self.new()
            self._run.append((FORMATS[field.kind], target))  # type: ignore[index]  # a Kind
            return target
        if field.is_array:
            return self._array(field)
        if isinstance(field.kind, Kind):
            return self._text_or_bytes(field)
        return self._nested(field, field.kind)

    def _nested(self, field: Field, kind: type[Struct]) -> str:
        if not field.is_nullable_in(self.version):
            return self._struct(kind)
        target, present = self.new(), self.new("n")
        # KIP-893: int8 -1 is null; inside a tagged field an unsigned varint, where 0 is null.
        is_tagged = field.is_tagged_in(self.version)
        self._run.append(("B" if is_tagged else "b", present))
        self._flush()
        self.line(f"if {present} {'== 0' if is_tagged else '< 0'}:")
        self.line(f"    {target} = None")
        self.line("else:")
        self.depth += 1
        self.line(f"{target} = {self._struct(kind)}")
        self.depth -= 1
        return target

    def _length(self, field: Field, *, compact: bool) -> str:
        """Write the code that reads a length prefix; return its variable: -1 is null."""
        length = self.new("n")
        if not compact:
            is_string = field.kind is Kind.STRING and not field.is_array
            self._run.append(("h" if is_string else "i", length))
            self._flush()
            return length
        self._run.append(("B", length))
        self._flush()
        self.line(f"if {length} > 127:")
        self.line("    b = d[p]")
        self.line("    if b < 128:")
        self.line(f"        {length} += (b - 1) << 7")
        self.line("        p += 1")
        self.line("    else:")
        self.line(f"        {length}, p = uv(d, p - 1)")
        self.line(f"{length} -= 1")
        return length

    def _null_branch(self, target: str, length: str, *, is_nullable: bool) -> None:
        """Write the branch for a null length, up to the `else` of the caller."""
        self.line(f"if {length} < 0:")
        self.line(f"    {target} = None" if is_nullable else "    raise Refused")
        self.line("else:")
        self.depth += 1

    def _text_or_bytes(self, field: Field) -> str:
        target, end = self.new(), self.new("e")
        compact = self.flexible and not field.is_never_compact
        length = self._length(field, compact=compact)
        self._null_branch(target, length, is_nullable=field.is_nullable_in(self.version))
        self.line(f"{end} = p + {length}")
        self.line(f"if {end} > end:")
        self.line("    raise Refused")
        decode = self._decode if field.kind is Kind.STRING else ""
        if self._views and is_batches(field):
            self.line(f"{target} = view(d, p, {end})")
        else:
            self.line(f"{target} = d[p:{end}]{decode}")
        self.line(f"p = {end}")
        self.depth -= 1
        return target

    def _array(self, field: Field) -> str:
        target = self.new()
        length = self._length(field, compact=self.flexible)
        self._null_branch(target, length, is_nullable=field.is_nullable_in(self.version))
        least = element_bytes(field, self.version, flexible=self.flexible)
        self.line(f"if {length} * {least} > end - p:")
        self.line("    raise Refused")
        if field.kind in SIZES:
            self._fixed_elements(field, target, length)
        else:
            self.line(f"{target} = []")
            self.line(f"for _ in range({length}):")
            self.depth += 1
            element = self._value(field._replace(is_array=False, nullable=()))
            self.line(f"{target}.append({element})")
            self.depth -= 1
        self.depth -= 1
        return target

    def _fixed_elements(self, field: Field, target: str, length: str) -> None:
        """Write the code that reads an array of fixed-size elements in one call."""
        assert isinstance(field.kind, Kind)
        size = SIZES[field.kind]
        if field.kind is Kind.UUID:
            elements = f"[d[i:i + {size}] for i in range(p, p + {length} * {size}, {size})]"
        else:
            unpackers = self.bind("a", UNPACKERS[field.kind])
            elements = f"list({unpackers}[{length}](d, p))"
        self.line(f"{target} = {elements}")
        self.line(f"p += {length} * {size}")
