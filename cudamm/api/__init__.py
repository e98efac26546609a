"""The Python interface of `import cudamm`: a function for each verb, and code shared with the commands.

Uses output and every room below it, and `errors`.
"""
