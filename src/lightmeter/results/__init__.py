"""Results: the table, its writers and files."""
