"""Search parameters, keep what was found, and choose the best method and parameters.

Uses analysis and every room below it, and `errors`.
"""
