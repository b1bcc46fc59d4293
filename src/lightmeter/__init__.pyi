# Written by tools/names.py: type 'make names'.
from typing import Literal, overload

from lightmeter import learn as learn
from lightmeter import metrics as metrics
from lightmeter import plots as plots
from lightmeter.auditing.public import audit as audit
from lightmeter.auditing.result import AuditResult as AuditResult
from lightmeter.clicks.estimate import estimate_attention as estimate_attention
from lightmeter.clicks.merit import click_merit as click_merit
from lightmeter.clicks.result import AttentionEstimate as AttentionEstimate
from lightmeter.comparing.compare import compare as compare
from lightmeter.comparing.comparison import Comparison as Comparison
from lightmeter.data.collection import Collection as Collection
from lightmeter.data.loading import load as load
from lightmeter.data.values import Values as Values
from lightmeter.errors import InputError as InputError
from lightmeter.errors import LightmeterError as LightmeterError
from lightmeter.errors import MissingExtraError as MissingExtraError
from lightmeter.errors import TermError as TermError
from lightmeter.evaluation.evaluate import evaluate as evaluate
from lightmeter.evaluation.frontier_exposure import frontier_exposure as frontier_exposure
from lightmeter.evaluation.sample import sample as sample
from lightmeter.exposure.expohedron import decompose as decompose
from lightmeter.exposure.gradient import exposure_gradient as exposure_gradient
from lightmeter.exposure.group_frontier import group_frontier as group_frontier
from lightmeter.exposure.group_frontier import GroupFrontier as GroupFrontier
from lightmeter.exposure.policy import expected_exposure as expected_exposure
from lightmeter.exposure.policy import rank_marginals as rank_marginals
from lightmeter.io.write_runs import write_run as write_run
from lightmeter.measures.attention import ABR as ABR
from lightmeter.measures.attention import Count as Count
from lightmeter.measures.attention import ECE as ECE
from lightmeter.measures.attention import MeanScore as MeanScore
from lightmeter.measures.attention import Share as Share
from lightmeter.measures.base import Measure as Measure
from lightmeter.measures.bias import InputBias as InputBias
from lightmeter.measures.bias import OutputBias as OutputBias
from lightmeter.measures.bias import RankingBias as RankingBias
from lightmeter.measures.bias import SignedBias as SignedBias
from lightmeter.measures.diversity import alpha_nDCG as alpha_nDCG
from lightmeter.measures.diversity import D_nDCG as D_nDCG
from lightmeter.measures.diversity import Dsharp_nDCG as Dsharp_nDCG
from lightmeter.measures.diversity import ERR_IA as ERR_IA
from lightmeter.measures.diversity import RBP_IA as RBP_IA
from lightmeter.measures.diversity import StRecall as StRecall
from lightmeter.measures.exposure import EED as EED
from lightmeter.measures.exposure import EEL as EEL
from lightmeter.measures.exposure import EER as EER
from lightmeter.measures.exposure import EESpread as EESpread
from lightmeter.measures.exposure import nEED as nEED
from lightmeter.measures.exposure import nEEL as nEEL
from lightmeter.measures.exposure import nEER as nEER
from lightmeter.measures.exposure_sums import MeanExposure as MeanExposure
from lightmeter.measures.groups import AWRF as AWRF
from lightmeter.measures.groups import DeltaGF as DeltaGF
from lightmeter.measures.groups import DistrSim as DistrSim
from lightmeter.measures.groups import GF as GF
from lightmeter.measures.groups import GFR as GFR
from lightmeter.measures.groups import MaxDeviation as MaxDeviation
from lightmeter.measures.inequality import Entropy as Entropy
from lightmeter.measures.inequality import GeneralizedEntropy as GeneralizedEntropy
from lightmeter.measures.inequality import Gini as Gini
from lightmeter.measures.inequality import IAA as IAA
from lightmeter.measures.multisided import JME_AG as JME_AG
from lightmeter.measures.multisided import JME_AI as JME_AI
from lightmeter.measures.multisided import JME_GG as JME_GG
from lightmeter.measures.multisided import JME_GI as JME_GI
from lightmeter.measures.multisided import JME_IG as JME_IG
from lightmeter.measures.multisided import JME_II as JME_II
from lightmeter.measures.ndkl import NDKL as NDKL
from lightmeter.measures.pairwise import Pairwise as Pairwise
from lightmeter.measures.prefixes import FAIR as FAIR
from lightmeter.measures.prefixes import MaxSkew as MaxSkew
from lightmeter.measures.prefixes import MinSkew as MinSkew
from lightmeter.measures.prefixes import rKL as rKL
from lightmeter.measures.prefixes import rND as rND
from lightmeter.measures.prefixes import rRD as rRD
from lightmeter.measures.prefixes import Skew as Skew
from lightmeter.measures.ratios import DIR as DIR
from lightmeter.measures.ratios import DTR as DTR
from lightmeter.measures.ratios import ExposureGap as ExposureGap
from lightmeter.measures.ratios import ExposureRatio as ExposureRatio
from lightmeter.measures.ratios import logDP as logDP
from lightmeter.measures.ratios import logEUR as logEUR
from lightmeter.measures.ratios import logRUR as logRUR
from lightmeter.measures.relevance import AP as AP
from lightmeter.measures.relevance import DCG as DCG
from lightmeter.measures.relevance import ERR as ERR
from lightmeter.measures.relevance import gERR as gERR
from lightmeter.measures.relevance import iRBU as iRBU
from lightmeter.measures.relevance import Judged as Judged
from lightmeter.measures.relevance import nDCG as nDCG
from lightmeter.measures.relevance import P as P
from lightmeter.measures.relevance import R as R
from lightmeter.measures.relevance import RBP as RBP
from lightmeter.measures.relevance import RR as RR
from lightmeter.models.divergences import Divergence as Divergence
from lightmeter.models.divergences import JSD as JSD
from lightmeter.models.divergences import KL as KL
from lightmeter.models.divergences import NMD as NMD
from lightmeter.models.divergences import RNOD as RNOD
from lightmeter.models.divergences import SqL2 as SqL2
from lightmeter.models.divergences import TV as TV
from lightmeter.models.divergences import W1 as W1
from lightmeter.models.policies import Oracle as Oracle
from lightmeter.models.policies import PlackettLuce as PlackettLuce
from lightmeter.models.policies import Policy as Policy
from lightmeter.models.policies import RankTransposition as RankTransposition
from lightmeter.models.policies import Samples as Samples
from lightmeter.models.policies import Static as Static
from lightmeter.models.targets import Equal as Equal
from lightmeter.models.targets import Given as Given
from lightmeter.models.targets import Ideal as Ideal
from lightmeter.models.targets import Pool as Pool
from lightmeter.models.targets import Proportional as Proportional
from lightmeter.models.targets import Relevant as Relevant
from lightmeter.models.targets import Target as Target
from lightmeter.models.targets import Uniform as Uniform
from lightmeter.models.users import Attention as Attention
from lightmeter.models.users import Cascade as Cascade
from lightmeter.models.users import Inverse as Inverse
from lightmeter.models.users import TopK as TopK
from lightmeter.models.users import User as User
from lightmeter.report.public import write_report as write_report
from lightmeter.reranking.amortised import Amortised as Amortised
from lightmeter.reranking.base import Reranker as Reranker
from lightmeter.reranking.baselines import ByColumn as ByColumn
from lightmeter.reranking.baselines import EpsilonGreedy as EpsilonGreedy
from lightmeter.reranking.baselines import UniquePerValue as UniquePerValue
from lightmeter.reranking.exposure_policies import ExposureOptimal as ExposureOptimal
from lightmeter.reranking.exposure_policies import FairExposure as FairExposure
from lightmeter.reranking.fair_top_k import FairTopK as FairTopK
from lightmeter.reranking.greedy import DetCons as DetCons
from lightmeter.reranking.greedy import DetConstSort as DetConstSort
from lightmeter.reranking.greedy import DetGreedy as DetGreedy
from lightmeter.reranking.greedy import DetRelaxed as DetRelaxed
from lightmeter.reranking.rerank import rerank as rerank
from lightmeter.reranking.result import Reranking as Reranking
from lightmeter.results.result import Result as Result
from lightmeter.statistics.fair_tables import fair_table as fair_table
from lightmeter.statistics.fair_tables import FairTable as FairTable
from lightmeter.sweeping.result import SweepResult as SweepResult
from lightmeter.sweeping.sweep import sweep as sweep
from lightmeter.terms.catalogue import list_measures as list_measures
from lightmeter.terms.parameters import param as param
from lightmeter.terms.term import Term as Term

MODULES: dict[str, str]
__version__: str
__all__: list[str]

@overload
def parse(text: str, kind: Literal["measure"]) -> Measure: ...
@overload
def parse(text: str, kind: Literal["user"]) -> User: ...
@overload
def parse(text: str, kind: Literal["target"]) -> Target: ...
@overload
def parse(text: str, kind: Literal["divergence"]) -> Divergence: ...
@overload
def parse(text: str, kind: Literal["policy"]) -> Policy: ...
@overload
def parse(text: str, kind: Literal["reranker"]) -> Reranker | Policy: ...
@overload
def parse(text: str, kind: str | None = None) -> Term: ...
