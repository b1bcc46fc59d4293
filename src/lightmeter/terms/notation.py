"""The notation of terms: text to term. Read with Python's own parser as a syntax tree; nothing is ever evaluated."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from lightmeter.errors import TermError
from lightmeter.terms.registry import lookup
from lightmeter.terms.term import Cutoff, needed_kind, parameters, unknown_parameter, unnamed_parameters

_FORM = "a term such as nDCG@10, RBP(p=0.8) or GF(by='gender', div=RNOD)@20"
_LONGEST = 5000


def parse(text: str, kind: str | None = None) -> Any:
    """Read a term from its notation.

    Parameters
    ----------
    text
        Such as ``"nDCG@10"`` or ``"Cascade(p=0.5, u=0.5)"``. ``parse(str(term)) == term`` for every term.
    kind
        ``measure``, ``user``, ``target``, ``divergence``, ``policy`` or ``reranker``; by default any, measures first.

    Raises
    ------
    TermError
        Where the text is not a term, or a name or value in it is not known or not accepted.

    Examples
    --------
    >>> from lightmeter import parse
    >>> parse("nDCG@10")
    nDCG@10
    >>> parse("Cascade(p=0.5, u=0.5)", kind="user").p
    0.5
    """
    return _term(_tree(text), text, kind)


@dataclass(frozen=True)
class Condition:
    """A comparison of a measure with a number, for ``--fail-if``."""

    measure: Any
    sign: str
    threshold: float

    def holds(self, value: float) -> bool:
        """Whether it holds for a value; never for NaN."""
        return not math.isnan(value) and _SIGNS[self.sign](value, self.threshold)

    def __str__(self) -> str:
        return f"{self.measure} {self.sign} {self.threshold:g}"


_SIGNS: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
_COMPARE = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}


def parse_condition(text: str, read: Callable[[ast.expr, str], Any] | None = None) -> Condition:
    """Read a condition such as ``ABR(by='gender') < 0.8``.

    Parameters
    ----------
    text
        The condition.
    read
        What makes something of its left side, by default a measure.

    Raises
    ------
    TermError
        Where it is not one measure compared with one number.
    """
    tree = _tree(text)
    if isinstance(tree, ast.Compare) and len(tree.ops) == 1 and type(tree.ops[0]) in _COMPARE:
        threshold = _value(tree.comparators[0], text, None)
        if isinstance(threshold, int | float) and not isinstance(threshold, bool):
            left = _term(tree.left, text, "measure") if read is None else read(tree.left, text)
            return Condition(left, _COMPARE[type(tree.ops[0])], float(threshold))
    raise TermError(f"{text!r} is not a condition. Accepted: a measure, a sign and a number, such as nDCG@10 < 0.3.")


def _tree(text: str) -> ast.expr:
    if not isinstance(text, str):
        raise TermError(f"found {text!r} where a term is written. Accepted: {_FORM}.")
    if len(text) > _LONGEST:
        raise TermError(f"a term of {len(text)} characters is too long. Accepted: up to {_LONGEST}.")
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise TermError(f"{text!r} cannot be read. Accepted: {_FORM}.{_hint(text)}") from None


def _hint(text: str) -> str:
    if text.count("(") != text.count(")"):
        return " The brackets do not match."
    if text.count("'") % 2 or text.count('"') % 2:
        return " A quotation mark is missing."
    return ""


def _term(tree: ast.expr, text: str, kind: str | None) -> Any:
    if isinstance(tree, ast.BinOp) and isinstance(tree.op, ast.MatMult):
        term = _term(tree.left, text, kind)
        cutoff = _value(tree.right, text, None)
        if not isinstance(term, Cutoff):
            raise TermError(f"{term} takes no cutoff, in {text!r}. A cutoff belongs to a measure, such as nDCG@10.")
        if term.cutoff is not None:
            raise TermError(f"two cutoffs in {text!r}. Accepted: one, at the end.")
        if not isinstance(cutoff, int):
            raise TermError(f"the cutoff {ast.unparse(tree.right)} in {text!r} is not a whole number of at least 1.")
        return term @ cutoff
    if isinstance(tree, ast.Name):
        return lookup(tree.id, kind)()
    if isinstance(tree, ast.Tuple):
        raise TermError(f"{text!r} names several terms. Accepted: one; repeat -m to give several.")
    if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name):
        cls = lookup(tree.func.id, kind)
        if tree.args or any(k.arg is None for k in tree.keywords):
            raise TermError(f"in {text!r} {unnamed_parameters(cls, [ast.unparse(value) for value in tree.args])}")
        given: dict[str, Any] = {}
        for keyword in tree.keywords:
            name = str(keyword.arg)
            if name != "cutoff" and name not in parameters(cls):
                raise TermError(unknown_parameter(cls, name))
            if name in given:
                raise TermError(f"{name} is given twice in {text!r}. Accepted: each parameter once.")
            given[name] = _value(keyword.value, text, needed_kind(cls, name))
        return cls(**given)
    raise TermError(f"{ast.unparse(tree)!r} is not a term. Accepted: {_FORM}.")


def _is_known(name: str) -> bool:
    try:
        lookup(name)
    except TermError:
        return False
    return True


def _value(tree: ast.expr, text: str, kind: str | None) -> Any:
    if isinstance(tree, ast.Constant) and (tree.value is None or isinstance(tree.value, str | int | float | bool)):
        return tree.value
    if isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.USub | ast.UAdd):
        number = _value(tree.operand, text, None)
        if isinstance(number, int | float) and not isinstance(number, bool):
            return -number if isinstance(tree.op, ast.USub) else number
    if isinstance(tree, ast.List | ast.Tuple):
        return tuple(_value(e, text, kind) for e in tree.elts)
    if isinstance(tree, ast.Dict) and all(k is not None for k in tree.keys):
        keys = [_value(k, text, None) for k in tree.keys if k is not None]
        return dict(zip(keys, [_value(v, text, None) for v in tree.values], strict=True))
    if isinstance(tree, ast.Name) and kind is None and not _is_known(tree.id):
        raise TermError(f"{tree.id} in {text!r} is no term. If it is a text, put it in quotes: '{tree.id}'.")
    if isinstance(tree, ast.Name | ast.Call | ast.BinOp):
        return _term(tree, text, kind)
    raise TermError(
        f"{ast.unparse(tree)!r} in {text!r} is not a value. Accepted: numbers, 'text', True, False, None, lists, terms."
    )
