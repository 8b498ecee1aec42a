"""The command line as it was given, to be printed again: what a command can be repeated with.

    kdiag tail orders -b kafka:9092 --grep 'a b' -X sasl.password=secret -o -20
    given:      -b kafka:9092 --grep 'a b'                without -o, and without secrets

Texts are those that were typed, not what they became. Settings that hold secrets are left out: they
are to be given again.
"""

from collections import defaultdict
from collections.abc import Container, Iterator, Sequence
from typing import Any, Final

ARGUMENTS: Final = "kdiag.arguments"
"""In the `meta` of a context: the words behind the name of its command."""

_PROPERTIES: Final = "properties"


def given_options(context: Any, leave_out: Container[str] = ()) -> list[str]:
    """Return the options of the command line, each in its shortest form with its text.

    Args:
        context: of the command, as `click` has it.
        leave_out: the names of parameters that are not repeated.
    """
    words: Sequence[str] = context.meta.get(ARGUMENTS, ())
    return list(_options(context, words, leave_out))


def _options(context: Any, words: Sequence[str], leave_out: Container[str]) -> Iterator[str]:
    from kdiag.client.config.keys import is_secret  # noqa: PLC0415 - 10 ms, not for --help

    values, _, order = context.command.make_parser(context).parse_args(list(words))
    counts: dict[str, int] = defaultdict(int)
    for option in order:
        if option.param_type_name != "option" or option.name in leave_out:
            continue
        value = values[option.name]
        if option.multiple:
            counts[option.name] += 1
            value = value[counts[option.name] - 1]
        elif counts[option.name]:
            continue  # the last of several counts, and was written where the first was
        counts[option.name] += not option.multiple
        if option.name == _PROPERTIES and is_secret(value.partition("=")[0].strip()):
            continue
        if option.is_flag:
            yield min(option.opts if value else option.secondary_opts, key=len)
        else:
            yield from (min(option.opts, key=len), str(value))
