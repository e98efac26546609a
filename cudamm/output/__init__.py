"""The presentation of results: terminal tables, files, plots, and the page.

Uses grading and every room below it, and `errors`.
"""
