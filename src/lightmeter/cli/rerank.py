"""The command ``rerank``: load, rerank, write the rankings, and say what changed."""

from __future__ import annotations

import dataclasses
import time
from dataclasses import dataclass
from typing import Any

from lightmeter.cli import request as request_of
from lightmeter.cli.asked import read_measure
from lightmeter.cli.measured import with_components
from lightmeter.cli.messages import choose, say
from lightmeter.cli.notes import told
from lightmeter.cli.plugged import load_plugins
from lightmeter.cli.streams import write_out
from lightmeter.cli.writing import render, terminal_width
from lightmeter.errors import LightmeterError
from lightmeter.evaluation.evaluate import ranked_context
from lightmeter.io.files import check_not_input, check_writable
from lightmeter.io.write_runs import run_format
from lightmeter.measures.groups import GF
from lightmeter.models.policies import Policy
from lightmeter.reranking.base import Reranker
from lightmeter.reranking.public import rerank
from lightmeter.reranking.result import Reranking
from lightmeter.reranking.shown import usual_measures
from lightmeter.results.result import Result
from lightmeter.results.text import printable
from lightmeter.terms.plugins import foreign_code, parse_term

_FORMATS = ("table", "csv", "jsonl", "latex", "markdown")
_EXAMPLE = "Name one, such as --method \"DetConstSort(by='gender')\"; 'lightmeter measures' lists them."


@dataclass
class Request(request_of.Request):
    """What the user asked ``rerank`` for, as typed; ``made`` is the file of the rankings made."""

    unknown: str = "drop"
    method: str | None = None
    made: str | None = None
    strict: bool = False

    def run(self) -> int:
        """Do it; the exit code."""
        started = time.time()
        form = self._check()
        modules = load_plugins(self.plugins, quiet=self.quiet)
        with foreign_code():
            method = parse_term(str(self.method), "reranker")
            measures = [read_measure(measure) for measure in self.measures]
        self._check_room(method)
        by = getattr(method, "by", None)
        collection = request_of.load_collection(self, [*measures, *([GF(by=by)] if by else [])])
        if len(collection.runs) > 1:
            names = ", ".join(list(collection.runs)[:5])
            raise LightmeterError(f"{self.runs[0]} has {len(collection.runs)} runs ({names}). Accepted: one run.")
        inputs = request_of.inputs_of(self, collection, [*measures, method], modules)
        if self.made is not None:
            check_not_input(self.made, "--output", inputs.files)
        options = self.options()
        with foreign_code():
            made = rerank(
                collection,
                method,
                strict=self.strict,
                **{name: options[name] for name in ("rng", "samples", "depth", "ties", "unknown")},
            )
            shown = measures or usual_measures(method, collection)
            both = side_by_side(made, shown, unknown=self.unknown, missing=self.missing)
        if self.made is not None:
            made.write(self.made)
        lines = about(made, self.made)
        if not self.quiet:
            notes = [*request_of.about_inputs(self, [*shown], collection), *unknown_note(made, shown)]
            for line in told(collection, both, notes):
                say(line)
            for line in lines if form != "table" else []:
                say(line)
        content = render(both, form, width=terminal_width())
        if form == "table":
            content += "".join(f"{printable(line)}\n" for line in ["", *lines]).encode()
        if self.manifest is not None:
            more = {"method": str(method), "rankings": self.made, "guarantee": lines[0], "seed": options["rng"]}
            request_of.write_manifest(self, inputs, both.manifest, started, more)
        write_out(content)
        return 0

    def _check(self) -> str:
        """Refuse what cannot be, before anything is read; the format of the table."""
        for option, value in (("--method", self.method), ("--output", self.made)):
            if value == "":
                raise LightmeterError(f"{option} is an empty text. Give it a value, or leave it out.")
        if self.method is None:
            raise LightmeterError(f"no method is given. {_EXAMPLE}")
        choose("--unknown", self.unknown, ("drop", "error"))
        if self.ties is not None:
            choose("--ties", self.ties, ("docno", "file", "error"))
        if self.form is not None:
            choose("--format", self.form, _FORMATS)
        if self.made == "-":
            raise LightmeterError("--output is '-', and standard output has the table. Name a file for the rankings.")
        if self.made is not None:
            run_format(self.made)
            check_writable(self.made, "--output")
        return request_of.check(self, measured=True)

    def _check_room(self, method: Reranker | Policy) -> None:
        """A policy with probabilities needs a table."""
        weighted = isinstance(method, Reranker) and method.makes == "policy"
        if self.made is not None and weighted and run_format(self.made)[0] == "trec":
            raise LightmeterError(
                f"--output {self.made}: {type(method).__name__} makes a policy with probabilities, and TREC's six "
                "columns have no place for weights. Name a table: .csv, .tsv, .jsonl or .parquet."
            )


def side_by_side(made: Reranking, measures: list[Any], **options: Any) -> Result:
    """One result with the rankings given as the run ``before`` and those made as ``after``."""
    before, after = made.evaluate(measures, **options)
    cells = [
        dataclasses.replace(cell, run=name)
        for name, result in (("before", before), ("after", after))
        for cell in result.cells
    ]
    answered = {"before": next(iter(before.answered.values())), "after": next(iter(after.answered.values()))}
    return dataclasses.replace(before, cells=cells, answered=answered, manifest=after.manifest)


def unknown_note(made: Reranking, measures: list[Any]) -> list[str]:
    """That ``evaluate`` gives other values by default, where a document is of no known group."""
    attributes = {m.attribute for m in with_components(measures) if m.attribute is not None}
    context = ranked_context(made.before, None, made.ties, made.depth, every_query=True)
    if made.unknown != "drop" or not any(
        ranked.unknown_share(by)[0] > 0 for by in attributes for ranked in context.ranked.values()
    ):
        return []
    return [
        "documents of unknown group belong to none here, since a rank cannot be divided between groups; evaluate "
        "counts them for all groups alike by default, and gives these values with --unknown drop"
    ]


def about(made: Reranking, path: str | None) -> list[str]:
    """Whether the guarantee holds, and where the rankings are."""
    several = "sample" in made.run.columns
    many = made.run.select("query", "sample").n_unique() if several else made.run["query"].n_unique()
    what = f"{many} rankings" if many > 1 else "1 ranking"
    lines = [f"{made.method}: {made.told}", *([] if made.advice is None else [made.advice])]
    if path is None:
        lines.append(f"{what} made and not written: name a file with -o")
        return lines
    policy = f', to be read with --policy "{made.policy}"' if "weight" in made.run.columns else ""
    return [*lines, f"{what} written to {path}{policy}"]
