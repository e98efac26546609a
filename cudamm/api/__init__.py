"""What `import cudamm` gives: a function for each verb, and what commands share with these functions.

Uses output and every room below it, and `errors`.
"""
