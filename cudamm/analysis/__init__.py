"""What a kernel does and which mistake it makes: trace, check, profile.

Uses benchmark and every room below it, and `errors`.
"""
