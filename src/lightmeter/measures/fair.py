"""FA*IR: are there too few protected documents in any prefix? (Zehlike et al. 2017)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from lightmeter.arrays import Floats, Integers
from lightmeter.data.values import Values
from lightmeter.errors import LightmeterError
from lightmeter.measures.block import Block
from lightmeter.measures.group_targets import distribution
from lightmeter.measures.groups import BY, GroupMeasure
from lightmeter.measures.members import (
    BY_DOC,
    EMPTY,
    PROTECTED_DOC,
    VALUE,
    code_of,
    looked_at,
    member,
    target_share,
    undefined,
)
from lightmeter.models.targets import Pool
from lightmeter.statistics.fair_tables import fair_table
from lightmeter.terms.parameters import Choice, Either, Flag, Number, param

if TYPE_CHECKING:
    from lightmeter.measures.context import Context

_SHARE = Number(above=0, below=1)
Part = Literal["test", "p_value", "tail"]
#: fewer rankings of one length and share than this are tested without a table
FEW = 40


class FAIR(GroupMeasure):
    """FA*IR's ranked group fairness: 1 where every prefix of the first k documents has the protected documents that
    chance would give it, else 0.

    A prefix of i documents needs as many as the ``alpha`` quantile of Binomial(i, p), corrected for the many prefixes
    (``adjust``; :func:`~lightmeter.fair_table` gives the table). ``part='p_value'``: the exact chance that a ranking
    drawn with one coin flip a rank is somewhere as short of protected documents as this one (its smallest binomial
    tail), which needs no table. ``part='tail'``: the mean over prefixes of ``P(Binomial(i, p) <= protected ones)``
    (Raj and Ekstrand 2022). All in [0, 1], higher is better. ``p`` is by default the group's share of the documents
    that any compared run ranks for the query.

    A multi-valued document counts as protected if one of its values is. Soft memberships are refused: counts are
    tested. Undefined: ``unknown_member`` (a document's membership is unknown and ``unknown='uniform'``; ``'drop'``
    tests the known ones, ``'distinct'`` counts them as not protected), ``empty_group`` (no share between 0 and 1).
    Source: Zehlike et al., CIKM 2017.

    Examples
    --------
    >>> from lightmeter import FAIR, evaluate, load
    >>> c = load(run={"q": ["a", "b", "c"]}, groups={"gender": {"a": "m", "b": "m", "c": "f"}})
    >>> m = FAIR(by="gender", protected="f", p=0.5)
    >>> evaluate(c, [m, m(part="p_value"), m(part="tail")]).mean()["value"].to_list()
    [1.0, 0.25, 0.416667]
    """

    bounds = (0.0, 1.0)
    by: str = param(accepts=BY, doc=BY_DOC)
    protected: str = param(accepts=VALUE, doc=PROTECTED_DOC)
    p: float | Literal["pool"] = param(
        default="pool",
        accepts=Either((Choice(("pool",)), _SHARE)),
        doc="share that the protected group should have; 'pool': its share of what any compared run ranks",
        always=True,
    )
    alpha: float = param(default=0.1, accepts=_SHARE, doc="how often a fair ranking may fail", always=True)
    part: Part = param(
        default="test",
        accepts=Choice(("test", "p_value", "tail")),
        doc="passed or not; exact p-value; mean binomial tail",
    )
    adjust: bool = param(default=True, accepts=Flag(), doc="correct the table for the many prefixes")

    def resolve(self, context: Context) -> Any:
        measure = super().resolve(context)
        code_of(context, measure, self.protected)
        if context.collection.attribute(measure.by).kind == "soft":
            raise LightmeterError(
                f"{self}: {measure.by!r} has soft memberships, and FA*IR counts documents. Accepted: hard or "
                "multi-valued attributes. For soft ones there are Skew, NDKL, rND, rKL, rRD and ECE."
            )
        return measure

    def value(self, block: Block) -> Values:
        known = block.membership(self.by).known & looked_at(block, self.cutoff)
        protected = member(block, self.by, self.protected, full=True)
        size = known.sum(axis=1)
        share, values = self._shares(block)
        able = (size > 0) & (share > 0) & (share < 1)
        # places of unknown membership are passed over: the i-th known document is the i-th of the test
        count, n = np.cumsum(known & (protected > 0), axis=1, dtype=np.int64), np.cumsum(known, axis=1, dtype=np.int64)
        rows = np.flatnonzero(able)
        if len(rows):
            packed = np.zeros((len(rows), int(size.max())), dtype=np.int64)  # the known documents only, closed up
            at, place = np.nonzero(known[rows])
            packed[at, n[rows[at], place] - 1] = count[rows[at], place]
            values.value[rows] = self._of(packed, size[rows], share[rows])
        undefined(values, block, self.by, self.cutoff)
        spread = block.membership(self.by).spread
        if spread is not None:
            values.because(((spread > 0) & known).any(axis=1), "unknown_member")
        return values.because((size > 0) & ~able, EMPTY)

    def _shares(self, block: Block) -> tuple[Floats, Values]:
        """The share that each ranking is tested for, and values to be filled in."""
        values = Values(np.full(block.shape[0], np.nan))
        if self.p != "pool":
            return np.full(block.shape[0], self.p), values
        goal = distribution(block.context, Pool(), self.by, block.ranked.run.name)
        code = code_of(block.context, self, self.protected)
        return target_share(goal, code, block.query), values.because(~goal.defined(block.query), goal.reason)

    def _of(self, count: Integers, size: Integers, share: Floats) -> Floats:
        """The values of rankings of ``size`` known documents, each tested for its share."""
        from lightmeter.statistics import fair_batches

        if self.part == "tail":
            inside = np.arange(count.shape[1]) < size[:, None]
            return np.asarray((fair_batches.tails(count, share) * inside).sum(axis=1) / size)
        if self.part == "p_value":
            return fair_batches.p_values(count, size, share)
        out = np.zeros(len(count))
        # rankings of one length and share have one table; it is dearer to find than a few answers
        kinds, kind, many = np.unique(np.stack([size, share]), axis=1, return_inverse=True, return_counts=True)
        alone = (many < FEW)[kind] & self.adjust
        for number in np.flatnonzero(np.bincount(kind[~alone], minlength=len(many))):
            mine = kind == number
            length, p = int(kinds[0, number]), float(kinds[1, number])
            table = fair_table(length, p, self.alpha, adjust=self.adjust).minimum
            out[mine] = (count[mine, :length] >= table).all(axis=1)
        if alone.any():
            out[alone] = fair_batches.passing(count[alone], size[alone], share[alone], self.alpha)
        return out
