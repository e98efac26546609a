"""Search for the fastest parameters, store them, and choose the best method and parameters.

Uses analysis and every room below it, and `errors`.
"""
