from base64 import b64encode
from hashlib import sha256

from kdiag_cli.output.pages.policy import policy_element


def source_of(text: str) -> str:
    """Return the source that allows a text."""
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def test_a_policy_allows_the_texts_that_it_was_made_for() -> None:
    """By their hashes, in UTF-8; a script that differs by a letter has another."""
    policy = policy_element(["p { color: red }"], ["one(); // ä", "two();"])

    assert f"style-src {source_of('p { color: red }')};" in policy
    assert f"script-src {source_of('one(); // ä')} {source_of('two();')};" in policy
    assert source_of("two() ;") not in policy


def test_a_policy_allows_nothing_else() -> None:
    """Neither inline code, nor code made of text, nor any address."""
    policy = policy_element(["p {}"])

    assert policy.startswith('<meta http-equiv="Content-Security-Policy" content="default-src ')
    assert "default-src 'none'" in policy
    assert "script-src" not in policy
    assert not [each for each in ("unsafe", "http:", "https:", "*", "data:") if each in policy]
