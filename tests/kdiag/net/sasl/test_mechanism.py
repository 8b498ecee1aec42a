from kdiag.net.sasl.mechanism import Plain, SaslError, password_bytes, shortened


def test_a_sasl_error_reads_as_what_happened() -> None:
    """The fix is for whoever shows it beside."""
    error = SaslError("it was refused", "Ask again")
    assert (str(error), error.fix) == ("it was refused", "Ask again")


def test_what_a_broker_says_is_repeated_up_to_a_limit() -> None:
    """A broker may say half a megabyte; nobody reads that in an error."""
    assert shortened("x" * 300) == "x" * 300
    assert shortened("x" * 500_000) == "x" * 300 + "..."


def test_a_secret_keeps_the_bytes_that_it_was_read_from() -> None:
    """A password in a file need not be UTF-8; what never was bytes becomes a question mark."""
    assert password_bytes(b"p\xe4ss".decode(errors="surrogateescape")) == b"p\xe4ss"
    assert password_bytes("p\u00e4ss") == b"p\xc3\xa4ss"
    assert password_bytes("a\ud800b") == b"a?b"


PASSWORD = "tanstaaftanstaaf"


def test_plain_says_name_and_password_at_once() -> None:
    """This is the first example of RFC 4616, section 4."""
    assert list(Plain("tim", PASSWORD).tokens()) == [b"\0tim\0tanstaaftanstaaf"]


def test_plain_is_satisfied_whatever_the_broker_answers() -> None:
    """A broker that refuses does so with an error code."""
    talk = Plain("tim", PASSWORD).tokens()
    next(talk)
    assert next(talk, None) is None


def test_letters_beyond_ascii_are_utf_8() -> None:
    """RFC 4616 wants so."""
    assert list(Plain("tüm", "\N{HERB}").tokens()) == ["\0tüm\0\N{HERB}".encode()]


def test_plain_explains_a_refusal_and_never_says_the_password() -> None:
    """The user's name is told, with what the broker said."""
    plain = Plain("tim", PASSWORD)
    refusal = plain.explain("Authentication failed: Invalid username or password")
    assert "'tim'" in refusal.why
    assert "Invalid username or password" in refusal.why
    assert PASSWORD not in f"{plain!r} {refusal}"
