"""The search for an error, by anything that a log shows of it."""

import re
from difflib import get_close_matches
from typing import Final

from kdiag.diagnosis.error_codes.catalog import KNOWN_ERRORS
from kdiag.diagnosis.error_codes.known_error import KnownError

_MOST_NEAR: Final = 3
_NUMBER: Final = re.compile(r"[+-]?\d{1,6}")
_PACKAGE: Final = re.compile(r"^(?:[a-z]\w*\.)+|^Errors\.|^KafkaError\.", re.ASCII)
_PREFIX: Final = re.compile(r"^RD_KAFKA_RESP_ERR_|^ERR_(?=_)", re.IGNORECASE)
_BY_CODE: Final = {error.code: error for error in KNOWN_ERRORS}
_BY_NAME: Final = {error.name: error for error in KNOWN_ERRORS}
_BY_EXCEPTION: Final = {
    error.java_exception.lower(): error for error in KNOWN_ERRORS if error.java_exception
}


def find_errors(text: str) -> list[KnownError]:
    """Return the errors that a text names: the one of that name, else all with it in their names.

    Args:
        text: a code, a name (`NOT_COORDINATOR`, `not-coordinator`), a Java exception with or
            without its package, a name of librdkafka's (`_TRANSPORT`, `ERR__TRANSPORT`), or words
            of a name; capitals do not matter.
    """
    text = text.strip()
    if _NUMBER.fullmatch(text):
        by_code = _BY_CODE.get(int(text))
        return [] if by_code is None else [by_code]
    word = _PACKAGE.sub("", text)
    name = _PREFIX.sub("", _upper(word))
    named = _BY_NAME.get(name) or _BY_EXCEPTION.get(word.lower())
    if named is not None:
        return [named]
    return [each for each in KNOWN_ERRORS if name and _holds(each, name)]


def near_names(text: str) -> list[str]:
    """Return up to three names of errors that look like a text, the most similar first."""
    names = {error.name.lower(): error.name for error in KNOWN_ERRORS}
    names |= {
        error.java_exception.lower(): error.java_exception
        for error in KNOWN_ERRORS
        if error.java_exception
    }
    wanted = _PACKAGE.sub("", text.strip()).replace("-", "_").replace(" ", "_").lower()
    return [names[each] for each in get_close_matches(wanted, names, _MOST_NEAR)]


def _upper(text: str) -> str:
    return re.sub(r"[\s-]+", "_", text).upper()


def _holds(error: KnownError, words: str) -> bool:
    """Return whether an error's name or exception contains these words in a row."""
    exception = (error.java_exception or "").upper()
    return words in error.name or words in exception
