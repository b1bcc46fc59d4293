"""The command ``sample``: rankings drawn from a policy, written as a run."""

from __future__ import annotations

import io
from dataclasses import dataclass, field

from lightmeter.cli.asked import read_policy
from lightmeter.cli.messages import choose, say
from lightmeter.cli.options import pairs, seed, whole_number
from lightmeter.cli.plugged import load_plugins
from lightmeter.cli.streams import write_out
from lightmeter.data.loading import load
from lightmeter.errors import LightmeterError
from lightmeter.evaluation.sample import sample
from lightmeter.io.files import check_not_input, check_writable
from lightmeter.io.groups import KINDS
from lightmeter.io.sources import split_kind, split_name
from lightmeter.io.write_runs import check_trec, run_format, write_rankings, write_run
from lightmeter.terms.plugins import foreign_code

_TIES = ("docno", "file", "error")


@dataclass
class Request:
    """What the user asked ``sample`` for, as typed."""

    run_file: str
    policy: str | None = None
    samples: str | None = None
    rng: str | None = None
    depth: str | None = None
    ties: str | None = None
    qrels: str | None = None
    columns: list[str] = field(default_factory=list)
    plugins: list[str] = field(default_factory=list)
    output: str | None = None
    quiet: bool = False

    @classmethod
    def of(cls, **given: object) -> Request:
        """From the command line, where None stands for what is not given."""
        return cls(**{name: value for name, value in given.items() if value not in (None, [])})  # type: ignore[arg-type]

    def run(self) -> int:
        """Do it; the exit code."""
        many, start, depth = self._check()
        load_plugins(self.plugins, quiet=self.quiet)
        with foreign_code():
            policy = read_policy(str(self.policy), self.ties)
        collection = load(self.run_file, self.qrels, columns=pairs("--columns", self.columns) or None)
        if len(collection.runs) > 1:
            names = ", ".join(list(collection.runs)[:5])
            raise LightmeterError(f"{self.run_file} has {len(collection.runs)} runs ({names}). Accepted: one run.")
        if self.output is not None:
            files = [f for source in collection.inputs for f in source.files]
            named = [split_kind(split_name(text)[1], KINDS)[0] for text in (self.run_file, self.qrels) if text]
            check_not_input(self.output, "--output", [*files, *named])
        with foreign_code():
            drawn = sample(collection, policy, many, start, depth=depth, ties=self.ties)  # type: ignore[arg-type]
        if self.output is not None:
            # a table names its run by its file, so that it can be evaluated beside the run it was drawn from
            write_run(drawn if run_format(self.output)[0] == "trec" else drawn.drop("run"), self.output)
        else:
            check_trec(drawn, "standard output")
            content = io.BytesIO()
            write_rankings(drawn, content)
            write_out(content.getvalue())
        if not self.quiet:
            for note in collection.notes:
                say(note)
            queries = drawn["query"].n_unique()
            say(
                f"drawn from {policy}: {many} ranking{'s' if many > 1 else ''} of each of {queries} "
                f"quer{'ies' if queries > 1 else 'y'}, seed {start}" + (f"; first {depth} documents" if depth else "")
            )
        return 0

    def _check(self) -> tuple[int, int, int | None]:
        """Refuse what cannot be, before anything is read; the numbers."""
        for name, value in vars(self).items():
            if value == "" or (isinstance(value, list) and "" in value):
                option = {"run_file": "the run", "plugins": "--plugin"}.get(name, f"--{name}")
                raise LightmeterError(f"{option} is an empty text. Give it a value, or leave it out.")
        if self.policy is None:
            raise LightmeterError("no policy is given. Name one, such as --policy 'PlackettLuce(alpha=1)'.")
        if self.ties is not None:
            choose("--ties", self.ties, _TIES)
        if self.output == "-":
            self.output = None
        if self.output is not None:
            run_format(self.output)
            check_writable(self.output, "--output")
        many = 100 if self.samples is None else whole_number("--samples", self.samples)
        depth = None if self.depth is None else whole_number("--depth", self.depth)
        return many, 0 if self.rng is None else seed(self.rng), depth
