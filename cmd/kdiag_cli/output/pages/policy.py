"""The policy that a page gives its browser: what may run, be styled or be fetched.

A page holds names from the wire. They are escaped where they are written; should one ever get
through, the browser still runs nothing of it, styles nothing and fetches nothing:

    default-src 'none'; style-src 'sha256-...'; script-src 'sha256-...'; base-uri 'none'; ...

A hash is that of the whole text between `<script>` and `</script>`. Attributes such as `style=` and
`onclick=` have none, so a page must do without them.
"""

import hashlib
from base64 import b64encode
from collections.abc import Sequence
from typing import Final

_FIXED: Final = (
    "base-uri 'none'",  # these two are not part of default-src
    "form-action 'none'",
)


def policy_element(styles: Sequence[str], scripts: Sequence[str] = ()) -> str:
    """Return the element that must be the first in a page's head, but for its encoding.

    Args:
        styles: the texts of the page's `<style>` elements.
        scripts: those of its `<script>` elements that are run; blocks of data are none.
    """
    directives = ["default-src 'none'"]
    for name, texts in (("style-src", styles), ("script-src", scripts)):
        if texts:
            directives.append(f"{name} {' '.join(map(_hash, texts))}")
    policy = "; ".join([*directives, *_FIXED])
    return f'<meta http-equiv="Content-Security-Policy" content="{policy}">'


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{b64encode(digest).decode()}'"
