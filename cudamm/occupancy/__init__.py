"""Calculate occupancy.

Uses execution and every room below it, and `errors`.
"""
