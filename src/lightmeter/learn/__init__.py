"""Learning to rank for expected exposure: losses, objectives for boosted trees, training and its comparison.

Names are loaded when they are used: losses and networks need torch, boosted trees lightgbm (the extra ``learn``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lightmeter.errors import MissingExtraError

if TYPE_CHECKING:
    from lightmeter.io.letor import read_letor
    from lightmeter.learn.areas import curve_areas
    from lightmeter.learn.baselines import LambdaRankLoss, ListNetLoss, PairwiseLoss, PointwiseLoss
    from lightmeter.learn.data import LetorData, generated
    from lightmeter.learn.exposures import gumbel_exposure_of, luce_exposure_of
    from lightmeter.learn.losses import ExposureLoss
    from lightmeter.learn.network import Network
    from lightmeter.learn.trees import BoostedExposure, boosted_area

_HOME = {
    "lightmeter.io.letor": "read_letor",
    "lightmeter.learn.areas": "curve_areas",
    "lightmeter.learn.baselines": "LambdaRankLoss ListNetLoss PairwiseLoss PointwiseLoss",
    "lightmeter.learn.trees": "BoostedExposure boosted_area",
    "lightmeter.learn.data": "LetorData generated",
    "lightmeter.learn.exposures": "gumbel_exposure_of luce_exposure_of",
    "lightmeter.learn.losses": "ExposureLoss",
    "lightmeter.learn.network": "Network",
}
_MODULE = {name: module for module, names in _HOME.items() for name in names.split()}

__all__ = [
    "BoostedExposure",
    "ExposureLoss",
    "LambdaRankLoss",
    "LetorData",
    "ListNetLoss",
    "Network",
    "PairwiseLoss",
    "PointwiseLoss",
    "boosted_area",
    "curve_areas",
    "generated",
    "gumbel_exposure_of",
    "luce_exposure_of",
    "read_letor",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULE:
        raise AttributeError(f"module 'lightmeter.learn' has no attribute {name!r}")
    from importlib import import_module

    try:
        module = import_module(_MODULE[name])
    except ModuleNotFoundError as error:
        if error.name not in ("torch", "lightgbm"):
            raise
        raise MissingExtraError(error.name, "learn", f"lightmeter.learn.{name}") from None
    value = getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
