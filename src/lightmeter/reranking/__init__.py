"""Reranking: from the rankings that a system gives to fairer or more varied ones."""
