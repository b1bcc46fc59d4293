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
from lightmeter.cli.parsing import Choice, parse
from lightmeter.clicks.estimate import METHODS
from lightmeter.comparing.pairs import TESTS
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
