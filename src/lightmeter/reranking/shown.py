"""The measures that show what a reranker did, where nobody names any."""

from __future__ import annotations

from typing import Any

from lightmeter.data.collection import Collection
from lightmeter.measures.exposure import EED, EEL
from lightmeter.measures.groups import GF
from lightmeter.measures.prefixes import FAIR
from lightmeter.measures.ratios import DIR, DTR, ExposureRatio
from lightmeter.measures.relevance import RBP, nDCG
from lightmeter.models.policies import Policy
from lightmeter.models.targets import Ideal
from lightmeter.reranking.base import Reranker
from lightmeter.reranking.fair_exposure import FairExposure
from lightmeter.reranking.fair_top_k import FairTopK
from lightmeter.terms.term import Cutoff

#: cutoff of relevance, and user of exposure, of methods that name none
TOP = 10
USER = RBP(p=0.5)


def usual_measures(method: Reranker | Policy, collection: Collection) -> list[Any]:
    """Relevance as far as there are judgments, disparity of exposure, and the fairness that the method is after.

    Examples
    --------
    >>> from lightmeter import DetGreedy, load
    >>> c = load(run={"q": ["a"]}, groups={"gender": {"a": "f"}})
    >>> usual_measures(DetGreedy(by="gender") @ 20, c)
    [EED(user=RBP(p=0.5)), GF(by='gender', user=RBP(p=0.8))@20]
    """
    judged = collection.judgments is not None
    cutoff = method.cutoff if isinstance(method, Cutoff) else None
    user = getattr(method, "user", USER)
    out: list[Any] = [nDCG() @ (cutoff or TOP)] if judged else []
    out.append(EED(user=user, cutoff=None))
    if judged:
        out.append(EEL(user=user, target=Ideal()))
    by = getattr(method, "by", None)
    if by is None:
        return out
    if isinstance(method, FairExposure):
        out.append(ExposureRatio(by=by, user=user, cutoff=cutoff))
        if judged and method.merit == "grade" and method.constraint != "parity":
            kind = DTR if method.constraint == "treatment" else DIR
            out.append(kind(by=by, user=user, docs="ranked", cutoff=cutoff))
        return out
    out.append(GF(by=by, user=RBP(p=0.8), target=getattr(method, "target", None), cutoff=cutoff))
    if isinstance(method, FairTopK) and not method.joint:
        level = method.alpha / len(method.shares)
        out += [
            FAIR(by=by, protected=value, p=p, alpha=level, adjust=method.adjust, cutoff=cutoff)
            for value, p in method.shares.items()
        ]
    return out
