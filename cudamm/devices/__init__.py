"""Compile, load and run kernels on a device: a GPU, or the processor of this machine.

Uses compile and every room below it, and `errors`.
"""
