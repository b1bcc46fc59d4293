"""lightmeter: how rankings share out exposure, together with how relevant they are."""

from lightmeter.collection import Collection
from lightmeter.divergences import JSD, KL, NMD, RNOD, TV, W1, Divergence, SqL2
from lightmeter.errors import InputError, LightmeterError, MissingExtraError, TermError
from lightmeter.evaluate import evaluate
from lightmeter.load import load
from lightmeter.measures.attention import ABR, Count, MeanScore, Share
from lightmeter.measures.base import Measure
from lightmeter.measures.exposure import EED, EEL, EER, EESpread
from lightmeter.measures.groups import AWRF, GF, GFR, DeltaGF, DistrSim, MaxDeviation
from lightmeter.measures.relevance import AP, DCG, ERR, RBP, RR, Judged, P, R, gERR, iRBU, nDCG
from lightmeter.notation import parse
from lightmeter.params import param
from lightmeter.policies import Policy, Samples, Static
from lightmeter.result import Result
from lightmeter.targets import Equal, Given, Ideal, Pool, Proportional, Relevant, Target, Uniform
from lightmeter.terms import Term
from lightmeter.users import Attention, Cascade, Inverse, TopK, User
from lightmeter.values import Values

__all__ = [
    "ABR",
    "AP",
    "AWRF",
    "DCG",
    "EED",
    "EEL",
    "EER",
    "ERR",
    "GF",
    "GFR",
    "JSD",
    "KL",
    "NMD",
    "RBP",
    "RNOD",
    "RR",
    "TV",
    "W1",
    "Attention",
    "Cascade",
    "Collection",
    "Count",
    "DeltaGF",
    "DistrSim",
    "Divergence",
    "EESpread",
    "Equal",
    "Given",
    "Ideal",
    "InputError",
    "Inverse",
    "Judged",
    "LightmeterError",
    "MaxDeviation",
    "MeanScore",
    "Measure",
    "MissingExtraError",
    "P",
    "Policy",
    "Pool",
    "Proportional",
    "R",
    "Relevant",
    "Result",
    "Samples",
    "Share",
    "SqL2",
    "Static",
    "Target",
    "Term",
    "TermError",
    "TopK",
    "Uniform",
    "User",
    "Values",
    "evaluate",
    "gERR",
    "iRBU",
    "load",
    "nDCG",
    "param",
    "parse",
]
