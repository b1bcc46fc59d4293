"""Learning-to-rank data in memory: features on one scale, grades and groups of the documents of queries, and folds."""

from __future__ import annotations

import dataclasses
import itertools
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from lightmeter.arrays import Booleans, Floats, Integers, Rng
from lightmeter.errors import InputError, LightmeterError, choice, seed
from lightmeter.io.letor import read_letor
from lightmeter.models.users import User


@dataclass(frozen=True, eq=False)
class Grouping:
    """One group for each document.

    Attributes
    ----------
    name
        The attribute.
    values
        Names of its values.
    code
        ``[documents]``: a value's number, -1 where it is not known.
    """

    name: str
    values: list[str]
    code: Integers


@dataclass(frozen=True, eq=False)
class LetorData:
    """Queries and the features, grades and groups of their documents, the documents of a query one after the other.

    Attributes
    ----------
    features
        ``[documents, features]``, single precision, finite.
    grade
        ``[documents]``; grades below 0 count as 0.
    queries, sizes
        Ids of the queries, and their numbers of documents.
    docs
        Ids of the documents.
    feature_ids
        Number of each column in the file.
    groups
        Groups of the documents, where there are any.
    files, lines
        Where it was read, and the line of each document there.

    Examples
    --------
    >>> data = LetorData.of([[0.5], [1.0], [0.2]], [1, 0, 2], [2, 1])
    >>> data.padded(data.grade, [0, 1]).tolist()
    [[1.0, 0.0], [2.0, nan]]
    """

    features: NDArray[np.float32]
    grade: Floats
    queries: list[str]
    sizes: Integers
    docs: pl.Series
    feature_ids: Integers
    groups: Grouping | None = None
    files: tuple[str, ...] = ()
    lines: Integers | None = None

    @classmethod
    def of(cls, features: ArrayLike, grade: ArrayLike, sizes: ArrayLike, groups: ArrayLike | None = None) -> LetorData:
        """From arrays.

        Parameters
        ----------
        features, grade
            ``[documents, features]`` and ``[documents]``, finite.
        sizes
            Number of documents of each query.
        groups
            A name for each document; None where it is not known.

        Raises
        ------
        LightmeterError
            Where lengths differ or a number is not finite.
        """
        x, g = np.asarray(features, dtype=np.float32), np.asarray(grade, dtype=np.float64)
        n = np.asarray(sizes, dtype=np.int64)
        if x.ndim != 2 or g.shape != x.shape[:1] or n.ndim != 1 or n.sum() != len(g) or (n < 1).any():
            raise LightmeterError(
                f"features have the shape {x.shape}, grades {g.shape}, and the sizes add up to {int(n.sum())}. "
                "Accepted: [documents, features], [documents], and sizes of at least 1 that add up to the documents."
            )
        bad = np.argwhere(~np.isfinite(x))
        if len(bad):
            raise LightmeterError(
                f"feature {bad[0, 1] + 1} of document {bad[0, 0]} is {x[tuple(bad[0])]}. Accepted: finite numbers. "
                "Put a number where it is missing, such as the mean."
            )
        if not np.isfinite(g).all():
            raise LightmeterError("a grade is not finite. Accepted: finite numbers.")
        queries = [str(i + 1) for i in range(len(n))]
        docs = pl.Series("doc", [f"{q}.{i + 1}" for q, size in zip(queries, n, strict=True) for i in range(size)])
        data = cls(x, g, queries, n, docs, np.arange(1, x.shape[1] + 1))
        return data if groups is None else data.with_groups("group", list(np.asarray(groups, dtype=object)))

    @classmethod
    def read(cls, path: str | os.PathLike[str], sizes: str | os.PathLike[str] | None = None) -> LetorData:
        """From a file; see :func:`~lightmeter.io.letor.read_letor`."""
        t = read_letor(path, sizes)
        return cls(t.features, t.grade, t.queries, t.sizes, t.docs, t.feature_ids, files=t.files, lines=t.lines)

    @cached_property
    def start(self) -> Integers:
        """First document of each query."""
        return np.cumsum(self.sizes) - self.sizes

    @cached_property
    def owner(self) -> Integers:
        """Query of each document."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    def rows(self, queries: ArrayLike) -> tuple[Integers, Booleans]:
        """Rows of the documents of some queries, padded ``[queries, documents]``, and where there is one."""
        chosen = np.asarray(queries, dtype=np.int64)
        place = np.arange(int(self.sizes[chosen].max(initial=0)))
        there = place < self.sizes[chosen][:, None]
        return np.where(there, self.start[chosen][:, None] + place, 0), there

    def flat(self, queries: ArrayLike) -> Integers:
        """Rows of the documents of some queries, one query after the other."""
        rows, there = self.rows(queries)
        return rows[there]

    def padded(self, values: ArrayLike, queries: ArrayLike, fill: float = np.nan) -> Any:
        """Values of documents as ``[queries, documents]``."""
        rows, there = self.rows(queries)
        chosen = np.asarray(values)[rows]
        return np.where(there, chosen, np.asarray(fill).astype(chosen.dtype))

    def codes(self, queries: ArrayLike) -> Integers | None:
        """Groups of the documents of some queries, -1 where there is none."""
        return None if self.groups is None else self.padded(self.groups.code, queries, -1)

    def with_groups(self, name: str, values: Sequence[Any]) -> LetorData:
        """With a group for each document, None where it is not known."""
        column = pl.Series([None if v is None else str(v) for v in values], dtype=pl.String)
        if len(column) != len(self.grade):
            raise LightmeterError(f"{len(column)} groups for {len(self.grade)} documents. Accepted: one per document.")
        names = column.drop_nulls().unique().sort()
        if not len(names):
            raise LightmeterError(f"no document has a known value of {name!r}. Accepted: a value for some documents.")
        code = column.replace_strict(names, np.arange(len(names)), default=None, return_dtype=pl.Int64).fill_null(-1)
        return dataclasses.replace(self, groups=Grouping(name, names.to_list(), code.to_numpy()))

    def with_binned(self, feature: int, ends: Sequence[float]) -> LetorData:
        """With groups by a feature: below the first end, between the ends, from the last end on.

        Examples
        --------
        >>> data = LetorData.of([[5.0], [1000.0], [20000.0]], [1, 0, 2], [3]).with_binned(1, [1000, 10000])
        >>> [data.groups.values[c] for c in data.groups.code]
        ['1 below 1000', '2 from 1000 to 10000', '3 from 10000']
        """
        at = np.flatnonzero(self.feature_ids == feature)
        if not len(at):
            raise LightmeterError(
                f"there is no feature {feature}. Accepted: {self.feature_ids[0]} to {self.feature_ids[-1]}."
            )
        edges = np.asarray(ends, dtype=np.float64)
        if not len(edges) or not np.isfinite(edges).all() or (np.diff(edges) <= 0).any():
            raise LightmeterError(f"the ends of the bins are {list(ends)}. Accepted: one or more rising numbers.")
        shown = [f"{e:g}" for e in edges]
        names = [f"below {shown[0]}", *(f"from {a} to {b}" for a, b in itertools.pairwise(shown))]
        names = [f"{i + 1} {text}" for i, text in enumerate([*names, f"from {shown[-1]}"])]
        code = np.searchsorted(edges, self.features[:, at[0]].astype(np.float64), side="right")
        return dataclasses.replace(self, groups=Grouping(f"feature{feature}", names, code.astype(np.int64)))

    def with_groups_of(self, source: Any, attribute: str | None = None) -> LetorData:
        """With the groups of a file or frame, as :func:`lightmeter.load` takes it, one value per document."""
        from lightmeter.data.loading import load

        frame = self.run(np.zeros(len(self.grade)))
        found = load(run=frame, groups=source, attributes=None if attribute is None else [attribute]).attributes
        if len(found) != 1 and attribute is None:
            raise LightmeterError(
                f"the groups have {len(found)} attributes ({', '.join(found)}). Name one with --by (in Python: "
                "attribute=)."
            )
        if attribute is not None and attribute not in found:
            raise LightmeterError(f"the groups have no attribute {attribute!r}. There are: {', '.join(found)}.")
        one = next(iter(found.values()))
        if one.kind != "hard":
            raise LightmeterError(
                f"the attribute {one.name!r} gives documents several values or shares. Accepted here: one value each."
            )
        entry = one.index.find(frame["doc"], self.owner.astype(np.int32) if one.by_query else None)
        position, value, _ = one.pairs(entry, split=False)
        code = np.full(len(self.grade), -1, dtype=np.int64)
        code[position] = value
        if (code < 0).all():
            raise LightmeterError(
                f"none of the documents has a known value of {one.name!r}. Document ids here look like "
                f"{self.docs[0]!r}: the docid of a comment, or query and place."
            )
        return dataclasses.replace(self, groups=Grouping(str(one.name), [str(v) for v in one.values], code))

    def run(self, scores: ArrayLike) -> pl.DataFrame:
        """A run ``query, doc, score``."""
        query = pl.Series("query", self.queries, dtype=pl.String).gather(self.owner)
        return pl.DataFrame({"query": query, "doc": self.docs.alias("doc"), "score": np.asarray(scores, np.float64)})

    def judgments(self) -> pl.DataFrame:
        """Judgments ``query, doc, grade``."""
        return self.run(self.grade).rename({"score": "grade"})

    def memberships(self) -> pl.DataFrame:
        """Groups in long form, ``query, doc, attribute, value``, documents of a known value."""
        if self.groups is None:
            raise LightmeterError("there are no groups. Give them with --group-feature or --groups.")
        known = np.flatnonzero(self.groups.code >= 0)
        values = pl.Series("value", self.groups.values, dtype=pl.String).gather(self.groups.code[known])
        frame = self.run(self.grade).drop("score")[known]
        return frame.with_columns(pl.lit(self.groups.name).alias("attribute"), values)

    def check(self, binary: float | None = None) -> None:
        """Refuse data that nothing can be learnt from, or nothing where grades from ``binary`` on count as 1."""
        where, highest = self.files[0] if self.files else None, self.grade.max(initial=0.0)
        if not highest > 0:
            raise InputError("no document has a grade above 0", where=where, accepted="graded documents, 0 and more")
        if binary is not None and not 0 < binary <= highest:
            raise InputError(
                f"--binary {binary:g} leaves no document relevant, as the highest grade is {highest:g}"
                if binary > 0
                else f"--binary {binary:g} makes documents of grade 0 relevant",
                where=where,
                accepted=f"a grade above 0, at most {highest:g}",
                hint="Give a lower one, or leave --binary out" if binary > 0 else "Give a higher one",
            )

    def check_groups(self, loss: str) -> None:
        """Refuse a loss of parity without groups."""
        if loss.startswith("parity") and self.groups is None:
            raise LightmeterError(
                f"the loss {loss} needs groups. Give them with --group-feature N --bins N=.. or --groups FILE."
            )

    def check_user(self, option: str, user: User, binary: float | None = None) -> None:
        """Refuse a user model of ERR whose highest grade is below one of the data's, as counted with ``binary``."""
        most = getattr(user, "max_grade", None)
        seen = self.grade if binary is None else (self.grade >= binary).astype(np.float64)
        above = np.flatnonzero(seen > (np.inf if most is None else most))
        if len(above):
            row, highest = int(above[0]), f"{seen.max():g}"
            raise InputError(
                f"the grade is {seen[row]:g}, above the highest of {option} {str(user)!r}",
                where=self.files[0] if self.files else None,
                line=None if self.lines is None else int(self.lines[row]),
                accepted=f"max_grade of at least {highest}, the highest grade there is",
                hint=f"Write {option} 'ERR(max_grade={highest})'",
            )


def generated(
    queries: int = 300,
    documents: tuple[int, int] = (40, 100),
    *,
    noise: float = 0.6,
    between: float = 0.7,
    rng: Rng = 0,
) -> tuple[LetorData, Floats]:
    """A collection in the form of LETOR with known utilities: 136 features, grades 0 to 4, three groups.

    The utility of a document is a smooth function of ten properties, plus what its group adds. Grades are cuts of the
    utility plus noise plus what its query adds to all of its documents, which no feature shows: some queries have many
    relevant documents, some hardly any; 52, 32, 11, 4 and 1 in a hundred have the grades 0 to 4. Half of the
    properties are seen as they are, half moved by an amount that the query's documents share, as a sum over the
    query's words is. Feature 130 is heavy-tailed and gives the group in bins below 1,000, to 10,000 and above: the
    groups of higher values are larger and more relevant. Other features are copies with noise, properties of the
    query, and noise.

    Parameters
    ----------
    queries
        How many.
    documents
        Least and greatest number of documents of a query.
    noise
        Standard deviation of what no feature shows of a document, in units of that of the utility.
    between
        The same of a query: 0.7 puts a quarter of the variance between queries.
    rng
        Seed: a number, a generator that gives one, or None for a fresh one.

    Returns
    -------
    data, utility
        The collection with its groups, and the utility of each document without the noise.

    Examples
    --------
    >>> data, utility = generated(5, (10, 20))
    >>> data.features.shape[1], sorted(set(data.grade.tolist()))[-1], len(data.groups.values)
    (136, 4.0, 3)
    """
    random = np.random.default_rng([seed(rng), 136])
    sizes = random.integers(documents[0], documents[1] + 1, size=queries)
    owner, n = np.repeat(np.arange(queries), sizes), int(sizes.sum())
    z = random.normal(size=(n, 10))
    of_query = random.normal(size=(queries, 6))
    group = random.choice(3, size=n, p=[0.15, 0.3, 0.55])
    inner = z[:, 0] + 0.8 * np.tanh(2 * z[:, 5]) + 0.7 * z[:, 1] * (z[:, 2] > 0) + 0.5 * np.maximum(z[:, 6], 0)
    inner += 0.5 * z[:, 3] * of_query[owner, 0] + 0.3 * z[:, 7]
    utility = inner / inner.std() + 0.5 * group
    utility = (utility - utility.mean()) / utility.std()
    known = utility + noise * random.normal(size=n) + between * random.normal(size=queries)[owner]
    grade = np.searchsorted(np.quantile(known, [0.52, 0.84, 0.95, 0.99]), known).astype(np.float64)
    rank = np.array([100.0, 1_000.0, 10_000.0])[group] * np.exp(2.3 * random.random(n))
    seen = z + random.normal(size=(queries, 10))[owner] * (np.arange(10) >= 5)
    copies = seen[:, random.integers(0, 10, 60)] + 0.7 * random.normal(size=(n, 60))
    rest = random.normal(size=(n, 136 - 10 - 6 - 60 - 1))
    features = np.concatenate([seen, of_query[owner], copies, rest], axis=1) * random.lognormal(0, 1.5, size=135)
    features = np.insert(features, 129, rank, axis=1)
    data = LetorData.of(features, grade, sizes)
    return data.with_binned(130, [1_000, 10_000]), utility


Features = NDArray[np.float32]
NORMALISATIONS = ("zscore", "log", "query", "none")
#: Standardised features are cut here: a value seen nowhere in training would lead anywhere.
_FURTHEST = 10.0


@dataclass(frozen=True)
class Normalisation:
    """A way to put features on one scale.

    Attributes
    ----------
    name
        ``'zscore'``: mean 0 and deviation 1 over the training documents; ``'log'``: the same of
        ``sign(x) ln(1 + |x|)``; ``'query'``: mean 0 and deviation 1 within each query; ``'none'``.
    mean, deviation
        ``[features]`` of the training documents; a feature that does not vary has deviation 1.
    """

    name: str
    mean: Floats
    deviation: Floats

    @classmethod
    def fit(cls, name: str, features: Features) -> Normalisation:
        """From the training documents.

        Examples
        --------
        >>> n = Normalisation.fit("zscore", np.array([[1.0, 5.0], [3.0, 5.0]], dtype=np.float32))
        >>> n.apply(np.array([[1.0, 6.0]], dtype=np.float32), [1]).tolist()
        [[-1.0, 1.0]]
        """
        choice("normalisation", name, NORMALISATIONS)
        x = _logarithm(features) if name == "log" else features
        mean = x.mean(axis=0, dtype=np.float64)
        deviation = x.std(axis=0, dtype=np.float64)
        level = deviation <= 1e-7 * np.maximum(np.abs(mean), 1e-30)
        return cls(name, mean, np.where(level, 1.0, deviation))

    def apply(self, features: Features, sizes: Any) -> Features:
        """Features ``[documents, features]`` of queries with these numbers of documents."""
        if self.name == "none":
            return features
        if self.name == "query":
            start, n = np.cumsum(sizes) - sizes, np.asarray(sizes)
            own = features.astype(np.float64)
            own -= np.repeat(np.add.reduceat(own, start, axis=0) / n[:, None], n, axis=0)
            d = np.sqrt(np.add.reduceat(own**2, start, axis=0) / n[:, None])
            scaled = own / np.repeat(np.where(d > 1e-7, d, 1.0), n, axis=0)
        else:
            x = _logarithm(features) if self.name == "log" else features
            scaled = (x - self.mean) / self.deviation
        return np.clip(scaled, -_FURTHEST, _FURTHEST).astype(np.float32)


def _logarithm(x: Features) -> Features:
    return np.sign(x) * np.log1p(np.abs(x))


@dataclass(frozen=True)
class Fold:
    """Numbers of the queries of one fold."""

    train: Integers
    valid: Integers
    test: Integers


def folds_of(queries: int, parts: int = 5, seed: int = 0) -> list[Fold]:
    """Part k tests, the next one validates, the others train: with 5 parts 60, 20 and 20 in a hundred.

    Examples
    --------
    >>> fold = folds_of(10, 5)[0]
    >>> len(fold.train), len(fold.valid), len(fold.test)
    (6, 2, 2)
    """
    if queries < parts:
        make = "query makes" if queries == 1 else "queries make"
        raise LightmeterError(f"{queries} {make} no {parts} folds. Accepted: at least one query per fold.")
    order = np.random.default_rng([seed, 5]).permutation(queries)
    part = [np.sort(order[k::parts]) for k in range(parts)]
    folds = []
    for k in range(parts):
        rest = [part[(k + i) % parts] for i in range(2, parts)]
        folds.append(Fold(np.sort(np.concatenate(rest)), part[(k + 1) % parts], part[k]))
    return folds
