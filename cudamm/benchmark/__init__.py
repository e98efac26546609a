"""Measure, summarise and compare; the roofline.

Uses occupancy and every room below it, and `errors`.
"""
