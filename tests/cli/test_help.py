"""The help of every command: exit codes, and examples that the command takes."""

from __future__ import annotations

import re
import shlex
from typing import Any

import pytest
import typer

from lightmeter.cli.app import app

GROUP: Any = typer.main.get_command(app)
COMMANDS = ("evaluate", "compare", "sweep", "audit", "attention", "sample", "rerank", "train")


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_exit_codes_and_examples_that_can_be_typed(lightmeter, command):
    done = lightmeter(command, "--help")
    assert done.code == 0
    whole = " ".join(done.out.split())
    assert "Exit code: 0 done; 2 the input is wrong; " in whole
    assert ("3 a --fail-if holds" in whole) == ("--fail-if CONDITION" in whole)
    _, _, below = GROUP.commands[command].epilog.partition("\b\n")
    examples = re.sub(r"\\\n\s*", "", below.partition("\n\n")[0]).splitlines()
    assert len(examples) >= 2
    for example in examples:
        program, name, *arguments = shlex.split(example)
        assert program == "lightmeter"
        context = GROUP.commands[name].make_context(f"lightmeter {name}", arguments)
        assert not context.args
    assert any(shlex.split(example)[1] == command for example in examples)


def test_what_audit_says_of_per_query_is_about_lists(lightmeter):
    text = " ".join(lightmeter("audit", "--help").out.split())
    assert "--per-query The rows of every list of --query too" in text


def test_options_that_compare_refuses_are_not_advertised(lightmeter):
    text = lightmeter("compare", "--help").out
    assert "--sequence" not in text
    assert "--segment" not in text
    assert "--fail-if" in text
