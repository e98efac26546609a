"""What a file in `cuda_src/`, or a user's kernel, declares: method, variant, shapes, launch.

Uses source, and `errors`.
"""
