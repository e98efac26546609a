"""The content of a file in `cuda_src/`: method, variant, shapes, launch.

Uses `errors` and no other room.
"""
