"""The table of options: the help of every command, examples that it takes, and the defaults that Python has too."""

from __future__ import annotations

import importlib
import inspect
import re
import shlex

import pytest

import lightmeter as lm
from lightmeter.auditing.options import PRESETS
from lightmeter.cli.options import ABOUT, COMMANDS, FORMATS
from lightmeter.cli.parsing import Choice, Number, Whole, parse
from lightmeter.clicks.estimate import METHODS
from lightmeter.comparing.pairs import TESTS
from lightmeter.errors import LightmeterError
from lightmeter.learn.data import NORMALISATIONS
from lightmeter.learn.settings import LOSSES, MODELS, Settings
from lightmeter.statistics.significance import ADJUST

BY_NAME = {command.name: command for command in COMMANDS}
WITH_EXAMPLES = [command.name for command in COMMANDS if command.examples]


@pytest.mark.parametrize("command", WITH_EXAMPLES)
def test_help_has_exit_codes_and_examples_that_can_be_typed(lightmeter, command):
    done = lightmeter(command, "--help")
    assert done.code == 0
    whole = " ".join(done.out.split())
    assert "Exit code: 0 done; 2 the input is wrong; " in whole
    assert ("3 a --fail-if holds" in whole) == ("--fail-if CONDITION" in whole)
    _, _, below = BY_NAME[command].examples.partition("\b\n")
    examples = re.sub(r"\\\n\s*", "", below.partition("\n\n")[0]).splitlines()
    assert len(examples) >= 2
    for example in examples:
        assert example.strip() in re.sub(r"\\\n\s*", "", done.out)
        program, *arguments = shlex.split(example)
        assert program == "lightmeter"
        assert parse(arguments, COMMANDS, ABOUT) is not None
    assert any(shlex.split(example)[1] == command for example in examples)


@pytest.mark.parametrize("command", BY_NAME)
def test_every_command_is_listed_and_explains_all_it_takes(lightmeter, command):
    assert command in lightmeter().out
    text = lightmeter(command, "--help").out
    for option in BY_NAME[command].options:
        assert all((flag in text) != option.hidden for flag in option.flags.split())
    assert callable(importlib.import_module(f"lightmeter.cli.{command}").run)


CHOICES = {
    ("compare", "test"): TESTS,
    ("compare", "adjust"): ADJUST,
    ("audit", "preset"): PRESETS,
    ("attention", "method"): METHODS,
    ("train", "losses"): LOSSES,
    ("train", "model"): MODELS,
    ("train", "normalise"): NORMALISATIONS,
    ("evaluate", "format"): FORMATS,
}


@pytest.mark.parametrize(("command", "name"), CHOICES)
def test_choices_are_those_of_the_library(command, name):
    (option,) = (o for o in BY_NAME[command].options if o.key == name)
    assert isinstance(option.value, Choice)
    assert option.value.words == tuple(CHOICES[command, name])


FUNCTIONS = {
    "evaluate": lm.evaluate,
    "compare": lm.compare,
    "sweep": lm.sweep,
    "audit": lm.audit,
    "attention": lm.estimate_attention,
    "sample": lm.sample,
    "rerank": lm.rerank,
    "train": Settings,
}


@pytest.mark.parametrize("command", FUNCTIONS)
def test_defaults_are_those_of_the_library(command):
    parameters = inspect.signature(FUNCTIONS[command]).parameters
    same = [o for o in BY_NAME[command].options if o.key in parameters and o.default is not None and not o.several]
    assert same
    for option in same:
        assert option.default == parameters[option.key].default, option.flags


def test_what_audit_says_of_per_query_is_about_lists(lightmeter):
    text = " ".join(lightmeter("audit", "--help").out.split())
    assert "--per-query Show the rows of every list of --query too" in text


def test_options_that_compare_refuses_are_not_advertised(lightmeter):
    text = lightmeter("compare", "--help").out
    assert "--sequence" not in text
    assert "--segment" not in text
    assert "--fail-if" in text


def typed(command):
    """A command line with no more than the command needs."""
    return [command, *("x" for option in BY_NAME[command].options if option.flags.isupper() or "..." in option.flags)]


EVERY = [(c.name, o) for c in COMMANDS for o in c.options if not o.is_argument and o.value is not None]
CHECKED = [(c, o) for c, o in EVERY if isinstance(o.value, Whole | Number | Choice)]


def named(cases):
    return [f"{command} {option.flags.split()[0]}" for command, option in cases]


@pytest.mark.parametrize(("command", "option"), CHECKED, ids=named(CHECKED))
def test_a_wrong_value_is_named_with_what_is_accepted(command, option):
    flag = option.flags.split()[0]
    with pytest.raises(LightmeterError) as error:
        parse([*typed(command), flag, "-?"], COMMANDS, ABOUT)
    assert str(error.value) == f"{flag} is '-?'. Accepted: {option.value.accepted('-?')}."


@pytest.mark.parametrize(("command", "option"), EVERY, ids=named(EVERY))
def test_an_empty_value_and_a_second_one_are_refused(command, option):
    flag = option.flags.split()[0]
    with pytest.raises(LightmeterError, match=f"^{flag} is an empty text"):
        parse([*typed(command), flag, ""], COMMANDS, ABOUT)
    if not option.several:
        with pytest.raises(LightmeterError, match=f"^{flag} is given twice"):
            parse([*typed(command), flag, "1", flag, "1"], COMMANDS, ABOUT)


@pytest.mark.parametrize("command", BY_NAME)
def test_a_request_has_every_option_of_the_table(command):
    request = parse(typed(command), COMMANDS, ABOUT)
    for option in BY_NAME[command].options:
        if not option.is_argument:
            expected = option.absent if option.default is None else option.default
            assert getattr(request, option.key) == expected
    assert {o.key for c in COMMANDS for o in c.options} <= set(vars(request))


def test_values_are_read():
    request = parse(
        shlex.split(
            "sweep a b --depth 5 --bins age=0,18 --bins size=1,2 --columns query=q,doc=d --per-query --user DCG "
            f"""--ordinal 'level="a, b",c' --user ERR --rng {2**70}"""
        ),
        COMMANDS,
        ABOUT,
    )
    assert (request.runs, request.depth, request.rng, request.per_query) == (["a", "b"], 5, 2**70, True)
    assert request.bins == {"age": [0.0, 18.0], "size": [1.0, 2.0]}
    assert request.columns == {"query": "q", "doc": "d"}
    assert request.ordinal == {"level": ["a, b", "c"]}
    assert request.users == ["DCG", "ERR"]
    assert request.policies == ["PlackettLuce"]


@pytest.mark.parametrize(
    ("text", "accepted"),
    [(str(2**63), "a whole number below 2 to the power of 63"), ("0", "a whole number of at least 1")],
)
def test_whole_numbers_have_ends(text, accepted):
    assert parse(["evaluate", "a", "--depth", str(2**63 - 1)], COMMANDS, ABOUT).depth == 2**63 - 1
    with pytest.raises(LightmeterError) as error:
        parse(["evaluate", "a", "--depth", text], COMMANDS, ABOUT)
    assert str(error.value) == f"--depth is '{text}'. Accepted: {accepted}."


@pytest.mark.parametrize("text", ["0.0", "1", "nan", "inf", "-0.5"])
def test_levels_are_between_0_and_1(text):
    assert parse(["compare", "a", "--alpha", "0.1"], COMMANDS, ABOUT).alpha == 0.1
    with pytest.raises(LightmeterError, match="a number between 0 and 1"):
        parse(["compare", "a", "--alpha", text], COMMANDS, ABOUT)
