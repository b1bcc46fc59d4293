"""Columns to a collection, and what is cut from it."""
