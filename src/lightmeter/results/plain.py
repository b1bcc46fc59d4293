"""Texts that a terminal can show; a module of its own, so that a message does not wait for data frames."""

from __future__ import annotations


def printable(text: str) -> str:
    """The text with control characters shown instead of obeyed."""
    return text if text.isprintable() else "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
