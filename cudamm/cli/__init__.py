"""The command line: each command parses its options, calls one thing, and prints what that returns.

Uses api and every room below it, and `errors`.
"""

from cudamm.cli.app import app, main

__all__ = ["app", "main"]
