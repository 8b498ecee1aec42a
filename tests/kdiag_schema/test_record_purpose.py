from kdiag.wire.record_catalog import MODULE_BY_NAME
from kdiag_schema.record_purpose import RECORD_PURPOSE


def test_every_internal_module_has_a_sentence_that_fits_a_line() -> None:
    """It opens the module as the first line of its docstring."""
    assert RECORD_PURPOSE.keys() == set(MODULE_BY_NAME.values())
    assert [key for key, text in RECORD_PURPOSE.items() if len(text) > 97 or text[-1] != "."] == []
