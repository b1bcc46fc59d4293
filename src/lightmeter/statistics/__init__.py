"""Statistics of results: tests between runs, intervals, agreement between orders of runs."""
