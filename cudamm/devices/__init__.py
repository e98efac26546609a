"""A GPU, and the processor that executes the same kernels.

Uses compile and every room below it, and `errors`.
"""
