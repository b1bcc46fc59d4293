"""Attention and merit from clicks.

A click log says which document of which query was shown at which rank, and whether it was clicked. A click needs a look
and a relevant document, ``P(click) = examination(rank) x relevance(query, document)``;
:mod:`~lightmeter.clicks.examination` separates the two.
"""

from lightmeter.clicks.estimate import estimate_attention
from lightmeter.clicks.merit import click_merit
from lightmeter.clicks.result import AttentionEstimate

__all__ = ["AttentionEstimate", "click_merit", "estimate_attention"]
