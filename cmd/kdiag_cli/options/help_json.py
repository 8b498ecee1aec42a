"""`--help-json`: what a command takes, for programs that write command lines.

    {"schema": 1, "command": "kdiag decode", "help": ..., "examples": [...], "notes": ...,
     "arguments": [{"name", "help", "required", "multiple", "choices"}],
     "options": [{"names", "metavar", "help", "heading", "default", "multiple", "is_flag",
                  "required", "choices"}],
     "commands": [...]}

A program or a group has the same of each command below it in `commands`.
"""

import re
from collections.abc import Callable, Iterable
from inspect import cleandoc
from typing import Any, Final

import msgspec

_SCHEMA: Final = 1
_EXAMPLE: Final = re.compile(r"^  (\S.*)$", re.MULTILINE)


def help_document(ctx: Any, heading: Callable[[Any], str]) -> str:
    """Return what a command takes, as JSON.

    Args:
        ctx: the context of the command.
        heading: returns the heading of an option.
    """
    return msgspec.json.encode({"schema": _SCHEMA, **_described(ctx, heading)}).decode()


def _described(ctx: Any, heading: Callable[[Any], str]) -> dict[str, Any]:
    command = ctx.command
    examples, _, notes = (command.epilog or "").partition("\n\n")
    params = [each for each in command.get_params(ctx) if not each.hidden]
    return {
        "command": ctx.command_path,
        "help": _plain(command.help or ""),
        "examples": _EXAMPLE.findall(examples),
        "notes": _plain(notes),
        "arguments": [_argument(each, ctx) for each in _of(params, "argument")],
        "options": [_option(each, ctx, heading(each)) for each in _of(params, "option")],
        "commands": [
            _described(each.make_context(name, ["--help"], ctx, resilient_parsing=True), heading)
            for name, each in getattr(command, "commands", {}).items()
        ],
    }


def _of(params: Iterable[Any], kind: str) -> list[Any]:
    return [each for each in params if each.param_type_name == kind]


def _argument(param: Any, ctx: Any) -> dict[str, Any]:
    return {
        "name": param.make_metavar(ctx=ctx),
        "help": param.help or "",
        "required": param.required,
        "multiple": param.nargs != 1,
        "choices": _choices(param),
    }


def _option(param: Any, ctx: Any, heading: str) -> dict[str, Any]:
    default = param.get_default(ctx)
    return {
        "names": [*param.opts, *param.secondary_opts],
        "metavar": None if param.is_flag else param.make_metavar(ctx=ctx),
        "help": param.help or "",
        "heading": heading,
        "default": default if isinstance(default, bool | None) else str(default),
        "multiple": param.multiple,
        "is_flag": param.is_flag,
        "required": param.required,
        "choices": _choices(param),
    }


def _choices(param: Any) -> list[str] | None:
    choices = getattr(param.type, "choices", None)
    return None if choices is None else [str(each) for each in choices]


def _plain(text: str) -> str:
    """Return text without what keeps its lines as they are."""
    return cleandoc(text.replace("\b", "")).strip()
