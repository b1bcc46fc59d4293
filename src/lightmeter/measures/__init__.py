"""Measures: one small term each."""
