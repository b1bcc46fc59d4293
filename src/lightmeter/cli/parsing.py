"""How a command line is read: the values that an option accepts, the checks of them, and a command's help.

``options.py`` declares each option once, out of the classes here; click splits the command line and prints the help.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from types import SimpleNamespace
from typing import Any

import click

from lightmeter.errors import LightmeterError, suggest

#: More resamples than this make no interval or p-value better by anything that shows.
MOST_RESAMPLES = 1_000_000
_LARGEST = 2**63 - 1
_SIMILAR = 0.75
#: characters of a wrong value that a message repeats, and those of a longer one
_LONG, _SHORT = 25, 20


class Value:
    """What an option accepts: any text, or in subclasses a number, a choice or names with values."""

    metavar = "TEXT"

    def empty(self) -> Any:
        """What an option is that is not given and has no default."""
        return None

    def convert(self, text: str) -> Any:
        """The value that a text stands for; a ValueError where it stands for none."""
        return text

    def accepted(self, text: str) -> str:
        """What would have been accepted instead of a text."""
        return "any text"

    def hint(self, text: str) -> str:
        """What a misspelt text probably was to be."""
        return ""

    def read(self, option: str, texts: Sequence[str], several: bool) -> Any:
        """The value of an option, or its values where it may be repeated."""
        values = []
        for text in texts:
            try:
                values.append(self.convert(text))
            except ValueError:
                shown = text if len(text) <= _LONG else f"{text[:_SHORT]}.."
                raise LightmeterError(
                    f"{option} is {shown!r}.{self.hint(text)} Accepted: {self.accepted(text)}."
                ) from None
        return values if several else values[0]


@dataclass(frozen=True)
class Text(Value):
    """Any text but an empty one."""

    metavar: str = "TEXT"


@dataclass(frozen=True)
class Whole(Value):
    """A whole number; of ``largest`` None, however large."""

    least: int = 1
    largest: int | None = _LARGEST
    metavar: str = "N"

    def convert(self, text: str) -> int:
        if not self._is_number(text) or int(text) < self.least:
            raise ValueError
        if self.largest is not None and int(text) > self.largest:
            raise ValueError
        return int(text)

    def accepted(self, text: str) -> str:
        if self.largest not in (None, _LARGEST):
            return f"a whole number from {self.least:,} to {self.largest:,}"
        if self.largest == _LARGEST and self._is_number(text) and int(text) > _LARGEST:
            return "a whole number below 2 to the power of 63"
        return f"a whole number of at least {self.least}"

    @staticmethod
    def _is_number(text: str) -> bool:
        """Whether Python reads the text as a whole number: it refuses those of thousands of digits."""
        return text.isascii() and text.isdigit() and len(text) <= 1000


@dataclass(frozen=True)
class Number(Value):
    """A finite number, and what else is asked of it."""

    metavar: str = "NUMBER"
    description: str = "a number, such as 0.5"
    holds: Callable[[float], bool] = math.isfinite

    def convert(self, text: str) -> float:
        number = float(text)
        if not (math.isfinite(number) and self.holds(number)):
            raise ValueError
        return number

    def accepted(self, text: str) -> str:
        return self.description


class Choice(Value):
    """One of a few words."""

    def __init__(self, *words: str, metavar: str | None = None) -> None:
        self.words = words
        self.metavar = "|".join(words) if metavar is None else metavar

    def convert(self, text: str) -> str:
        if text not in self.words:
            raise ValueError
        return text

    def accepted(self, text: str) -> str:
        return ", ".join(self.words)

    def hint(self, text: str) -> str:
        """Among a few short words the nearest may be far: only a slip of a letter or two, or a beginning, is meant."""
        near = [
            word
            for word in self.words
            if SequenceMatcher(None, text.lower(), word).ratio() >= _SIMILAR
            or (len(text) > 1 and word.startswith(text.lower()))
        ]
        return suggest(text, near)


@dataclass(frozen=True)
class Pairs(Value):
    """Names and one value each, ``query=qid,doc=item``, as a dictionary."""

    metavar: str = "OURS=THEIRS,.."

    def empty(self) -> dict[str, Any]:
        """No name at all."""
        return {}

    def read(self, option: str, texts: Sequence[str], several: bool) -> dict[str, str]:
        """The pairs of all texts.

        Examples
        --------
        >>> Pairs().read("--columns", ["query=qid,doc=item", "score=p"], several=True)
        {'query': 'qid', 'doc': 'item', 'score': 'p'}
        """
        pairs: dict[str, str] = {}
        for text in texts:
            for part in _split(text):
                name, equals, value = (s.strip() for s in part.partition("="))
                if not (name and equals and value):
                    raise LightmeterError(
                        f"{option} {text}: {part!r} is not a pair. Accepted: OURS=THEIRS,.. such as query=qid,doc=item."
                    )
                if name in pairs:
                    raise LightmeterError(f"{option}: {name!r} is given twice ({pairs[name]} and {value}).")
                pairs[name] = value
        return pairs


@dataclass(frozen=True)
class Lists(Value):
    """Names and several values each, ``level=low,mid,high``, as a dictionary."""

    metavar: str = "NAME=VALUE,.."
    example: str = "level=low,mid,high"

    def empty(self) -> dict[str, Any]:
        """No name at all."""
        return {}

    def read(self, option: str, texts: Sequence[str], several: bool) -> dict[str, Any]:
        """The lists of all texts.

        Examples
        --------
        >>> Lists().read("--ordinal", ["level=low,mid,high"], several=True)
        {'level': ['low', 'mid', 'high']}
        """
        lists: dict[str, list[Any]] = {}
        for text in texts:
            name, equals, rest = text.partition("=")
            name, values = name.strip(), [v.strip() for v in _split(rest)]
            if not (name and equals and values and all(values)):
                raise LightmeterError(
                    f"{option} {text}: this is not NAME=VALUE,VALUE,.. Accepted: such as {self.example}."
                )
            if name in lists:
                raise LightmeterError(f"{option}: {name!r} is given twice.")
            if len(set(values)) < len(values):
                twice = next(v for v in values if values.count(v) > 1)
                raise LightmeterError(f"{option} {text}: {twice!r} stands there twice.")
            lists[name] = self.values_of(option, name, values)
        return lists

    def values_of(self, option: str, name: str, values: list[str]) -> list[Any]:
        """The values of one name."""
        return values


@dataclass(frozen=True)
class NumberLists(Lists):
    """Names and several numbers each, ``age=0,18,65``, as a dictionary."""

    metavar: str = "NAME=0,1,11"
    example: str = "age=0,18,65"

    def values_of(self, option: str, name: str, values: list[str]) -> list[Any]:
        """The numbers of one name."""
        try:
            return [float(v) for v in values]
        except ValueError:
            raise LightmeterError(
                f"{option} {name}={','.join(values)}: not all of these are numbers. Accepted: such as {self.example}."
            ) from None


def _split(text: str) -> list[str]:
    """Parts between commas; a part with a comma of its own stands in double quotes."""
    return next(csv.reader([text], skipinitialspace=True), [])


@dataclass(frozen=True)
class Option:
    """An option of a command, or with flags that have no dashes an argument.

    Attributes
    ----------
    flags
        As it is typed: ``--measure -m``, of an argument its name in the help: ``RUN``.
    value
        What it accepts; None of a flag.
    help
        Its line in the help.
    default
        Its value where it is not given, shown in the help.
    several
        Whether it may be given several times.
    name
        Its name in a request: by default its first flag.
    label
        What messages call it: by default its first flag.
    hidden
        Whether the help leaves it out.
    """

    flags: str
    value: Value | None
    help: str
    default: Any = None
    several: bool = False
    name: str = ""
    label: str = ""
    hidden: bool = False

    def but(self, **changes: Any) -> Option:
        """The same option with other traits, for another command."""
        return replace(self, **changes)

    @property
    def key(self) -> str:
        """Its name in a request."""
        return self.name or self.flags.split()[0].lstrip("-").lower().replace("-", "_")

    @property
    def is_argument(self) -> bool:
        """Whether it is typed without a flag before it."""
        return not self.flags.startswith("-")

    @property
    def absent(self) -> Any:
        """Its value in a request of a command that does not take it."""
        if self.value is None:
            return False
        empty = self.value.empty()
        return [] if self.several and empty is None else empty

    def read(self, given: Any) -> Any:
        """The value that is given on a command line: texts as click hands them over."""
        if self.value is None:
            return bool(given)
        if given is None or given == ():
            return self.absent if self.default is None else self.default
        texts = [given] if isinstance(given, str) else list(given)
        option = self.label or self.flags.split()[0]
        if "" in texts:
            raise LightmeterError(f"{option} is an empty text. Give it a value, or leave it out.")
        return self.value.read(option, texts, self.several)

    def of_click(self) -> click.Parameter:
        """The same for click, which splits the command line and prints the help."""
        metavar = None if self.value is None else self.value.metavar
        if self.is_argument:
            return click.Argument(
                [self.key], nargs=-1 if self.several else 1, required=not self.flags.startswith("["), metavar=self.flags
            )
        return click.Option(
            [*self.flags.split(), self.key],
            metavar=metavar,
            help=self.help + self._shown_default(),
            multiple=self.several,
            is_flag=True if self.value is None else None,  # False has click take a value as one that may be left out
            hidden=self.hidden,
        )

    def _shown_default(self) -> str:
        if self.default is None:
            return ""
        default = self.default if isinstance(self.default, list) else [self.default]
        return f"  [default: {' '.join(map(str, default))}]"


@dataclass(frozen=True)
class Command:
    """A command: what it takes, and its help."""

    name: str
    help: str
    options: tuple[Option, ...]
    short: str
    examples: str = ""

    def of_click(self) -> _ClickCommand:
        """The same for click."""
        command = _ClickCommand(
            self.name,
            params=[option.of_click() for option in self.options],
            help=self.help,
            short_help=self.short,
            epilog=self.examples or None,
            context_settings=_SETTINGS,
        )
        command.arguments = [(option.flags, option.help) for option in self.options if option.is_argument]
        return command


class Request(SimpleNamespace):
    """What the user asked a command for: the value of each option by its name, read and checked.

    Options that the command does not take are there too, without a value. ``command`` is the command's name,
    ``reading`` the first run where it is being read already.
    """


_SETTINGS: dict[str, Any] = {"help_option_names": ["-h", "--help"]}


class _ClickCommand(click.Command):
    """A command whose help explains its arguments, and that refuses an option given twice."""

    arguments: list[tuple[str, str]] = []  # noqa: RUF012

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the arguments, and then the options."""
        if self.arguments:
            with formatter.section("Arguments"):
                formatter.write_dl(self.arguments)
        super().format_options(ctx, formatter)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the arguments; of an option of one value that is given twice one would be forgotten in silence."""
        _, _, order = self.make_parser(ctx).parse_args(args=list(args))
        for option in order:
            if isinstance(option, click.Option) and not (option.multiple or option.is_flag) and order.count(option) > 1:
                raise LightmeterError(f"{option.opts[0]} is given twice. Accepted: once.")
        return super().parse_args(ctx, args)


def parse(arguments: Sequence[str], commands: Sequence[Command], about: str) -> Request | None:
    """The request that a command line makes; None where its answer, such as the help, has been printed.

    Parameters
    ----------
    arguments
        Those after the program's name.
    commands
        All commands.
    about
        One sentence on the program, for its help.
    """
    named = {command.name: command for command in commands}
    try:
        if not arguments or arguments[0].startswith("-"):
            _answer(list(arguments), commands, about)
            return None
        command = named.get(arguments[0])
        if command is None:
            raise LightmeterError(
                f"there is no command {arguments[0]!r}.{suggest(arguments[0], named)} Accepted: {', '.join(named)}."
            )
        context = command.of_click().make_context(f"lightmeter {command.name}", list(arguments[1:]))
    except click.exceptions.Exit:
        return None
    except click.UsageError as error:
        raise LightmeterError(_usage(error)) from None
    values = {option.key: option.absent for each in commands for option in each.options}
    values |= {option.key: option.read(context.params[option.key]) for option in command.options}
    return Request(command=command.name, reading=None, **values)


def _answer(arguments: list[str], commands: Sequence[Command], about: str) -> None:
    """Answer a command line without a command: --version, --help or a mistake."""
    program = click.Group(
        "lightmeter",
        commands={command.name: command.of_click() for command in commands},
        params=[click.Option(["--version"], is_flag=True, help="Show the version and exit.")],
        help=about,
        context_settings=_SETTINGS,
        invoke_without_command=True,
        no_args_is_help=False,
    )
    program.list_commands = lambda ctx: [command.name for command in commands]  # type: ignore[method-assign]
    context = program.make_context("lightmeter", arguments)
    if context.params["version"]:
        from importlib.metadata import version

        print(f"lightmeter {version('lightmeter')}")
    else:
        print(context.get_help())


def _usage(error: click.UsageError) -> str:
    """What click says of a mistake, in the form of the other messages."""
    text = " ".join(error.format_message().split()).rstrip(".")
    program = "lightmeter" if error.ctx is None else error.ctx.command_path
    stop = "" if text.endswith("?") else "."
    return f"{text[:1].lower()}{text[1:]}{stop} Type '{program} --help' for what it takes."
