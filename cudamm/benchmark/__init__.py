"""Measure, summarise and compare variants; compute the roofline.

Uses occupancy and every room below it, and `errors`.
"""
