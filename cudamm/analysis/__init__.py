"""Analysis of one kernel: its memory accesses (trace), its mistakes (check), its GPU counters (profile).

Uses benchmark and every room below it, and `errors`.
"""
