from kdiag.diagnosis.error_codes.advice import ErrorAdvice


def test_an_error_that_any_api_may_tell_names_none() -> None:
    """A list of all APIs would tell nothing."""
    assert ErrorAdvice(("It broke.",), "Mend it.").apis == ()
