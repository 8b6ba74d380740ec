"""Runs, plans and progress as a notebook shows them."""
