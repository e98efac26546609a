"""Plan, compile and run one case, in this process or another, and judge its product.

Uses devices and every room below it, and `errors`.
"""
