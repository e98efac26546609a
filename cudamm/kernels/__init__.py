"""The content of a file in `cuda_src/`: method, variant, shapes, launch.

Uses no other room, only `errors`.
"""
