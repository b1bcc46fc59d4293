"""Writers: tables of results as text, CSV, JSON lines, Parquet, LaTeX and Markdown."""
