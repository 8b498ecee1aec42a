from kdiag.net.sasl.sasl_plain import Plain

PASSWORD = "tanstaaftanstaaf"


def test_plain_says_name_and_password_at_once() -> None:
    """This is the first example of RFC 4616, section 4."""
    assert list(Plain("tim", PASSWORD).talk()) == [b"\0tim\0tanstaaftanstaaf"]


def test_plain_is_satisfied_whatever_the_broker_answers() -> None:
    """A broker that refuses does so with an error code."""
    talk = Plain("tim", PASSWORD).talk()
    next(talk)
    assert next(talk, None) is None


def test_letters_beyond_ascii_are_utf_8() -> None:
    """RFC 4616 wants so."""
    assert list(Plain("tüm", "\N{HERB}").talk()) == ["\0tüm\0\N{HERB}".encode()]


def test_plain_explains_a_refusal_and_never_says_the_password() -> None:
    """The user's name is told, with what the broker said."""
    plain = Plain("tim", PASSWORD)
    refusal = plain.explain("Authentication failed: Invalid username or password")
    assert "'tim'" in refusal.why
    assert "Invalid username or password" in refusal.why
    assert PASSWORD not in f"{plain!r} {refusal}"
