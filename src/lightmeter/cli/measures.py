"""The command ``measures``: what there is, and all about one of it."""

from __future__ import annotations

import json
import textwrap

from lightmeter.cli.console import say, terminal_width, write_out
from lightmeter.cli.inputs import load_plugins
from lightmeter.cli.notation import foreign
from lightmeter.cli.parsing import Request
from lightmeter.errors import TermError
from lightmeter.results.sheet import plain
from lightmeter.terms.catalogue import PLURALS, SINGULARS, Entry, catalogue, entries_named
from lightmeter.terms.plugins import foreign_code, load_announced
from lightmeter.terms.registry import KINDS, aliases, lookup


def run(request: Request) -> int:
    """Print the list, or the page of one name."""
    name, form = request.term, request.format
    load_plugins(request)
    failures = load_announced()
    with foreign_code():
        entries = catalogue() if name is None else _named(name, failures)
    for failure in failures:
        say(f"warning: {failure}")
    if form == "jsonl":
        text = "".join(json.dumps(e.record(), ensure_ascii=False) + "\n" for e in entries)
    elif form == "markdown":
        text = markdown(entries)
    else:
        width = terminal_width() or 0
        text = (
            _table(entries, width)
            if name is None
            else _renamed(name) + "\n".join(_page(e, kinds, width) for e, kinds in _by_class(entries))
        )
    write_out(text.encode())
    return 0


def _named(name: str, failures: list[str]) -> list[Entry]:
    bare = _bare(name)
    entries = entries_named(bare)
    if not entries:
        try:
            lookup(bare)
        except TermError as error:
            message = foreign(name) or foreign(bare) or str(error)
            raise TermError(" ".join([message, *(f"Also, {f}" for f in failures)])) from None
    return entries


def _bare(name: str) -> str:
    return name.partition("(")[0].partition("@")[0].strip()


def _renamed(name: str) -> str:
    """A first line where the name is an alias."""
    bare = _bare(name)
    known = aliases()
    return f"{bare} is {known[bare]}.\n\n" if bare in known else ""


def _table(entries: list[Entry], width: int) -> str:
    """One line or two per measure, and the names of the other terms."""
    measures = [e for e in entries if e.kind == "measure"]
    name = max(len(e.name) for e in measures)
    span = max(len(e.range) for e in measures)
    lines = [f"{'measure':{name}}  {'range':{span}}  better  meaning", f"{'-' * name}  {'-' * span}  ------  -------"]
    for e in measures:
        lines += _wrapped(f"{e.name:{name}}  {e.range:{span}}  {e.better or '':6}  ", e.summary, width)
    lines += [
        "",
        "A range that depends on parameters is that of the defaults. 'lightmeter measures NAME' shows all about one.",
        "",
    ]
    other = [f"{alias} ({e.name})" for e in measures for alias in e.aliases]
    lines += [*_wrapped("Other names that are understood: ", ", ".join(other), width), ""]
    for kind in KINDS[1:]:
        lines += _wrapped(f"{PLURALS[kind]}: ", ", ".join(e.name for e in entries if e.kind == kind), width)
    return "\n".join(lines) + "\n"


def _by_class(entries: list[Entry]) -> list[tuple[Entry, str]]:
    """Each class once, with the kinds it is of."""
    kinds: dict[tuple[str, str], list[Entry]] = {}
    for e in entries:
        kinds.setdefault((e.module, e.name), []).append(e)
    return [(same[0], " and ".join(SINGULARS[e.kind] for e in same)) for same in kinds.values()]


def _page(entry: Entry, kinds: str, width: int) -> str:
    lines = [f"{entry.example}   ({kinds})", ""]
    for paragraph in entry.text:
        lines += [*_wrapped("", paragraph, width), ""]
    if entry.parameters:
        lines.append("Parameters:")
        for p in entry.parameters:
            default = "must be given" if p.default is None else f"default {p.default}"
            lines += _wrapped(
                f"  {p.name}: ",
                "; ".join(filter(None, [p.meaning, default, f"accepted: {p.accepts}" if p.accepts else ""])),
                width,
            )
        lines.append("")
    facts = [("Range", entry.range), ("Better", entry.better), ("Needs", ", ".join(entry.needs))]
    if entry.kind == "measure":
        facts.append(
            (
                "Cutoff",
                {"required": "needed, written @k at the end", "optional": "may be given, written @k at the end"}.get(
                    entry.cutoff, "none"
                ),
            )
        )
        facts.append(("Also called", ", ".join(entry.aliases)))
        facts.append(("Usage", usage(entry)))
    if not entry.module.startswith("lightmeter."):
        facts.append(("From", f"the module {entry.module}"))
    lines += [f"{what}: {value}" for what, value in facts if value]
    return "\n".join(lines).rstrip() + "\n"


def usage(entry: Entry) -> str:
    """A command line that computes the measure."""
    needs = " ".join(entry.needs)
    options = [("judgments", "--qrels QRELS"), ("groups", "--groups GROUPS")]
    given = "".join(f" {option}" for need, option in options if need in needs)
    return f'lightmeter evaluate RUN{given} -m "{entry.example}"'


def markdown(entries: list[Entry]) -> str:
    """The catalogue as a page: one section per kind, with a table of the terms and their parameters."""
    parts = []
    for kind in KINDS:
        of_kind = [e for e in entries if e.kind == kind]
        if not of_kind:
            continue
        parts += [f"## {PLURALS[kind].capitalize()}", ""]
        columns = ["Name", "Meaning", *(["Range", "Better", "Needs"] if kind == "measure" else []), "Parameters"]
        parts += [f"| {' | '.join(columns)} |", f"|{'---|' * len(columns)}"]
        for e in of_kind:
            traits = [plain(e.range), e.better or "", ", ".join(e.needs)] if kind == "measure" else []
            parts.append(f"| {' | '.join([_names(e), plain(e.summary), *traits, _parameters(e)])} |")
        parts.append("")
    return "\n".join(parts)


def _names(entry: Entry) -> str:
    also = f" (also {', '.join(f'`{a}`' for a in entry.aliases)})" if entry.aliases else ""
    return f"`{entry.name}`{also}"


def _parameters(entry: Entry) -> str:
    """Each parameter with its default, its meaning and what it accepts."""
    parameters = []
    for p in entry.parameters:
        default = "" if p.default is None else f"={p.default}"
        parameters.append(
            f"`{p.name}{default}` {plain('; '.join(filter(None, [p.meaning, p.accepts])))}".replace("``", "` `")
        )
    return "<br>".join(parameters)


def _wrapped(head: str, text: str, width: int) -> list[str]:
    """The text after its head, wrapped to the width of a terminal; in one line where the width is 0."""
    if not width:
        return [f"{head}{text}".rstrip()]
    indent = min(len(head), 30) if len(head) > 2 else 0
    room = max(width, 60)
    return textwrap.wrap(
        f"{head}{text}", room, subsequent_indent=" " * indent, break_long_words=False, drop_whitespace=True
    ) or [head.rstrip()]
