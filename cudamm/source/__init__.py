"""Read C++ and CUDA source that users wrote: its text, its tree, its numbers, and how it launches kernels.

Uses no other room, only `errors`.
"""
