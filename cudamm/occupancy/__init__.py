"""The occupancy calculator.

Uses execution and every room below it, and `errors`.
"""
