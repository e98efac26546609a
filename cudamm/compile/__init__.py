"""From a variant to machine code.

Uses kernels, and `errors`.
"""
