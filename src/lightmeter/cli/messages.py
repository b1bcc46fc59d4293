"""Messages to the user: one line each, on standard error."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from difflib import SequenceMatcher
from typing import Any

from lightmeter.cli.streams import leave_pipes
from lightmeter.errors import LightmeterError, suggest
from lightmeter.results.text import printable

_SLIP = 0.75
#: characters of an argument that a message repeats in full
_LONG = 250
_POLICIES = ("PlackettLuce", "RankTransposition", "Oracle", "Uniform")


def say(text: str) -> None:
    """Print a message, named as ours. Where standard error is closed or full, there is nobody to tell."""
    if sys.stderr is None:
        return
    try:
        print(f"lightmeter: {printable(text)}", file=sys.stderr, flush=True)
    except OSError:
        leave_pipes()


def not_yet(what: str, instead: str = "") -> LightmeterError:
    """The error for what is announced, but not built."""
    return LightmeterError(f"{what} is not yet available in this version.{f' {instead}' if instead else ''}")


def later_policy(text: str) -> LightmeterError | None:
    """The error where a policy of a later version is asked for."""
    from lightmeter.terms.term import registered

    name = re.match(r"\s*(\w*)", text)
    if name and name[1] in _POLICIES and name[1] not in registered("policy"):
        return not_yet(f"the policy {name[1]}", "There are: Static(ties=..) and Samples(weight=..).")
    return None


def no_command(name: str, commands: Iterable[str]) -> str:
    """The message for a command that there is not."""
    return f"there is no command {name!r}.{suggest(name, commands)} Accepted: {', '.join(commands)}."


def shortened(text: str, given: Iterable[str]) -> str:
    """A message without the middle of arguments that are too long to read, whole or in part."""
    for argument in given:
        for word in (argument, *re.split(r"[=@(),\s]+", argument)):
            if len(word) > _LONG:
                text = text.replace(word, f"{word[:80]}..{word[-20:]}")
    return text


def usage(error: Any) -> str:
    """What typer has to say, in our form."""
    text = " ".join(error.format_message().split()).rstrip(".")
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "lightmeter"
    stop = "" if text.endswith("?") else "."
    return f"{text[:1].lower()}{text[1:]}{stop} Type '{command} --help' for what it takes."


def choose(option: str, value: str, options: tuple[str, ...]) -> str:
    """The value, if it is one of the options."""
    if value not in options:
        # of a few short words the nearest may be far: only a slip of a letter or two, or a beginning, is one of them
        near = [o for o in options if SequenceMatcher(None, value.lower(), o).ratio() >= _SLIP or _begins(value, o)]
        raise LightmeterError(f"{option} is {value!r}.{suggest(value, near)} Accepted: {', '.join(options)}.")
    return value


def _begins(value: str, option: str) -> bool:
    return len(value) > 1 and option.startswith(value.lower())
