"""Compile variants to machine code.

Uses kernels, and `errors`.
"""
