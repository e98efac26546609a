"""Plan, compile and run a case, in this process or in a worker process, and judge its product.

Uses devices and every room below it, and `errors`.
"""
