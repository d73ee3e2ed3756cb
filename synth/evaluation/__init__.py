"""Evaluation: a release beside the raw data that it was made from. Private, curator only.

Nothing here is differentially private, nothing is charged, and nothing of it may be published.
"""
