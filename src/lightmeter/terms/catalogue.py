"""The catalogue of terms, generated from their classes: docstrings, fields and traits. Nothing is listed by hand."""

from __future__ import annotations

import dataclasses
import inspect
import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lightmeter.errors import LightmeterError, choice
from lightmeter.terms import parameters as params
from lightmeter.terms.registry import KINDS, aliases, registered
from lightmeter.terms.term import Cutoff, Term, show

if TYPE_CHECKING:
    import polars as pl

SINGULARS = {kind: kind for kind in KINDS} | {"user": "user model"}
PLURALS = {
    "measure": "measures",
    "user": "user models",
    "target": "targets",
    "divergence": "divergences",
    "policy": "policies",
    "reranker": "rerankers",
}


@dataclass(frozen=True)
class Parameter:
    """A parameter of a term.

    Attributes
    ----------
    name, meaning
        As it is written, and what it means.
    default
        In the notation; None where it must be given.
    accepts
        What it takes, in words.
    """

    name: str
    default: str | None
    accepts: str
    meaning: str


@dataclass(frozen=True)
class Entry:
    """All there is to know about a term.

    Attributes
    ----------
    kind, name, module
        What it is, and where it is defined.
    summary
        One line.
    text
        The whole docstring without its examples, paragraphs as strings.
    parameters
        In the order of the notation.
    example
        The notation of one such term.
    better, low, high, needs
        Of measures: direction, range (infinite where there is no bound; of the example, where it depends on
        parameters), and what must be there.
    cutoff
        Whether it takes ``@k``: ``no``, ``optional`` or ``required``.
    aliases
        Other names that are understood.
    """

    kind: str
    name: str
    module: str
    summary: str
    text: tuple[str, ...]
    parameters: tuple[Parameter, ...]
    example: str
    better: str | None = None
    low: float | None = None
    high: float | None = None
    needs: tuple[str, ...] = ()
    cutoff: str = "no"
    aliases: tuple[str, ...] = ()

    @property
    def range(self) -> str:
        """The range as an interval, or an empty text."""
        if self.low is None or self.high is None:
            return ""
        left = "(-inf" if self.low == -math.inf else f"[{self.low:.4g}"
        return f"{left}, " + ("inf)" if self.high == math.inf else f"{self.high:.4g}]")

    def record(self) -> dict[str, Any]:
        """Plain values for JSON; null where there is no bound."""
        made = dataclasses.asdict(self)
        made["text"] = "\n\n".join(self.text)
        for end in ("low", "high"):
            value = made[end]
            made[end] = value if value is not None and math.isfinite(value) else None
        return made


def catalogue(kind: str | None = None) -> list[Entry]:
    """Entries of all registered terms, or of one kind, by name within each kind.

    Examples
    --------
    >>> [e.name for e in catalogue("divergence")]
    ['JSD', 'KL', 'NMD', 'RNOD', 'SqL2', 'TV', 'W1']
    """
    kinds = KINDS if kind is None else (kind,)
    return [
        entry_of(cls, k) for k in kinds for _, cls in sorted(registered(k).items(), key=lambda item: item[0].lower())
    ]


def list_measures(kind: str = "measure") -> pl.DataFrame:
    """All measures, or all terms of another kind, as a table.

    Parameters
    ----------
    kind
        ``measure``, ``user``, ``target``, ``divergence``, ``policy`` or ``reranker``.

    Returns
    -------
    polars.DataFrame
        ``name, meaning, better, range, needs, cutoff, aliases``: a row per term, by name. ``range`` is that of the
        defaults where it depends on parameters, ``cutoff`` says whether ``@k`` may be or must be written, and
        ``aliases`` are other names that are understood. What only measures have is null for other kinds.

    Examples
    --------
    >>> import lightmeter as lm
    >>> import polars as pl
    >>> lm.list_measures().row(by_predicate=pl.col("name") == "AP", named=True)["aliases"]
    ['MAP']
    >>> lm.list_measures("policy")["name"].to_list()
    ['Oracle', 'PlackettLuce', 'RankTransposition', 'Samples', 'Static', 'Uniform']
    """
    import polars as pl

    choice("kind", kind, KINDS)
    return pl.DataFrame(
        [
            (e.name, e.summary, e.better, e.range or None, list(e.needs), e.cutoff, list(e.aliases))
            for e in catalogue(kind)
        ],
        schema={
            "name": pl.String,
            "meaning": pl.String,
            "better": pl.String,
            "range": pl.String,
            "needs": pl.List(pl.String),
            "cutoff": pl.String,
            "aliases": pl.List(pl.String),
        },
        orient="row",
    )


def entries_named(name: str) -> list[Entry]:
    """The entries of a name or alias: one, or several where a term is of several kinds."""
    name = aliases().get(name, name)
    return [entry_of(registered(kind)[name], kind) for kind in KINDS if name in registered(kind)]


def entry_of(cls: type[Term], kind: str) -> Entry:
    """The entry of a class."""
    paragraphs = _paragraphs(cls)
    example = example_of(cls)
    entry = Entry(
        kind=kind,
        name=cls.__name__,
        module=cls.__module__,
        summary=_sentence(paragraphs[0]) if paragraphs else "",
        text=tuple(paragraphs),
        parameters=tuple(_parameter(cls, f) for f in dataclasses.fields(cls) if f.name != "cutoff"),  # type: ignore[arg-type]
        example=str(example) if example is not None else cls.__name__,
        aliases=tuple(cls.__dict__.get("aliases", ())),
    )
    if kind != "measure":
        return entry
    of: Any = example if example is not None else cls
    low, high = of.bounds if isinstance(of.bounds, tuple) else (None, None)
    needs = sorted(of.needs) if not isinstance(of.needs, property) else []
    if _needs_judgments(of) and "judgments" not in needs:
        needs.append("judgments (by default)")
    required = bool(getattr(cls, "needs_cutoff", False))
    return dataclasses.replace(
        entry,
        better=of.better if isinstance(of.better, str) else None,
        low=None if low is None else float(low),
        high=None if high is None else float(high),
        needs=tuple(needs),
        cutoff="required" if required else "optional" if issubclass(cls, Cutoff) else "no",
        example=f"{entry.example}@10" if required and example is not None and example.cutoff is None else entry.example,  # type: ignore[attr-defined]
    )


def _needs_judgments(measure: Any) -> bool:
    return bool(getattr(getattr(measure, "user", None), "by_document", False))


def example_of(cls: type[Term]) -> Term | None:
    """One term of a class, with examples for the parameters that must be given; None where none could be made."""
    given = {}
    for f in dataclasses.fields(cls):  # type: ignore[arg-type]
        if f.default is dataclasses.MISSING and f.default_factory is dataclasses.MISSING:
            given[f.name] = _example(f.name, params.constraint_of(cls, f))
    try:
        return cls(**given)
    except (LightmeterError, TypeError):
        return None


def _example(name: str, constraint: params.Constraint | None) -> Any:
    if isinstance(constraint, params.Text) or constraint is None:
        return {"by": "gender"}.get(name, "f")
    if isinstance(constraint, params.Number):
        wanted = [10, 1] if constraint.integer else [0.5, 1.0, 10.0]
        return next((n for n in wanted if _takes(constraint, n)), 1)
    if isinstance(constraint, params.Choice):
        return constraint.options[0]
    if isinstance(constraint, params.Flag):
        return False
    if isinstance(constraint, params.ListOf):
        inner = constraint.inner
        if isinstance(inner, params.TermOf) and inner.kind == "measure":
            known = registered("measure")
            return tuple(m for m in (example_of(known[n]) for n in ("ERR", "GF") if n in known) if m is not None)
        return tuple([_example(name, inner)] * max(constraint.least, 1))
    if isinstance(constraint, params.TermOf):
        return next((e for e in map(example_of, registered(constraint.kind).values()) if e is not None), None)
    if isinstance(constraint, params.Either):
        return _example(name, constraint.options[0])
    if isinstance(constraint, params.Maybe):
        return _example(name, constraint.inner)
    return None


def _takes(constraint: params.Constraint, value: Any) -> bool:
    try:
        constraint.check(value)
    except ValueError:
        return False
    return True


def _parameter(cls: type[Term], field: dataclasses.Field[Any]) -> Parameter:
    constraint = params.constraint_of(cls, field)
    return Parameter(
        name=field.name,
        default=None if field.default is dataclasses.MISSING else show(field.default),
        accepts=constraint.describe() if constraint is not None else "",
        meaning=str(field.metadata.get("doc", "")),
    )


def _paragraphs(cls: type[Term]) -> list[str]:
    """The docstring's paragraphs up to its examples, each in one line."""
    text = inspect.cleandoc(cls.__doc__ or "")
    text = re.split(r"^Examples\n-+$", text, maxsplit=1, flags=re.MULTILINE)[0]
    return [_plain(" ".join(p.split())) for p in re.split(r"\n\s*\n", text) if p.strip()]


def _plain(text: str) -> str:
    """Without reStructuredText's marks."""
    text = re.sub(r":\w+:`~?(?:[\w.]*\.)?(\w+)`", r"\1", text)
    return re.sub(r"(?<!\w)\*(\w+)\*(?!\w)", r"\1", text).replace("``", "")


def _sentence(text: str) -> str:
    """The first sentence, without its stop."""
    return re.split(r"(?<=[^.])\.(?:\s|$)", text, maxsplit=1)[0].rstrip(":")
