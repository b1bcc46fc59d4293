"""Comparing runs: which differ, by how much, on which queries, and where measures disagree."""
