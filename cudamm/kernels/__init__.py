"""What a file in `cuda_src/` declares: method, variant, shapes, launch.

Uses no other room, and `errors`.
"""
