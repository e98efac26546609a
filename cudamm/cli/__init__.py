"""The command line: each command parses, calls one thing, and prints what it returns."""

from cudamm.cli.app import app, main

__all__ = ["app", "main"]
