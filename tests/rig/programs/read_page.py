"""A page as a browser reads it: its policy, what it would run and how it is styled."""

from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser
from typing import Final

_DATA: Final = "application/json"


class ReadPage(HTMLParser):
    """What a page declares, and what is in it.

    Attributes:
        policy: the sources of each directive of its Content-Security-Policy.
        run: the texts of the scripts that a browser runs.
        styles: the texts of the elements that style it.
        attributes: the names of all attributes.
    """

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.policy: dict[str, list[str]] = {}
        self.run: list[str] = []
        self.styles: list[str] = []
        self.attributes: set[str] = set()
        self._texts: list[str] | None = None
        self.feed(text)
        self.close()

    @property
    def script_hashes(self) -> list[str]:
        """Return the sources that allow its scripts."""
        return list(map(_source, self.run))

    @property
    def style_hashes(self) -> list[str]:
        """Return the sources that allow its styles."""
        return list(map(_source, self.styles))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element."""
        values = dict(attrs)
        self.attributes.update(values)
        if (values.get("http-equiv") or "").lower() == "content-security-policy":
            for directive in (values["content"] or "").split(";"):
                name, *sources = directive.split()
                self.policy[name] = sources
        if tag == "style":
            self._texts = self.styles
        elif tag == "script" and values.get("type") != _DATA:
            self._texts = self.run

    def handle_data(self, data: str) -> None:
        """Note the text of a script or a style."""
        if self._texts is not None:
            self._texts.append(data)

    def handle_endtag(self, tag: str) -> None:
        """Leave an element."""
        if tag in {"script", "style"}:
            self._texts = None


def _source(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"
