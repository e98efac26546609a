"""Grade untrusted kernels: what an assignment asks for, what a submission may be, and its points.

Uses courses and every room below it, and `errors`.
"""
