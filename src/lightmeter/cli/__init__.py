"""The command line. :func:`main` turns arguments into an exit code; nothing here computes."""

from lightmeter.cli.entry import main

__all__ = ["main"]
