from kdiag.net.sasl.mechanism import SaslError, secret_bytes, shortened


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
    assert secret_bytes(b"p\xe4ss".decode(errors="surrogateescape")) == b"p\xe4ss"
    assert secret_bytes("p\u00e4ss") == b"p\xc3\xa4ss"
    assert secret_bytes("a\ud800b") == b"a?b"
