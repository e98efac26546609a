"""The presentation of results: terminal tables, files, plots, and the page.

Uses courses and every room below it, and `errors`.
"""
