"""Batches: their rows, their run and what becomes of them in virtual time."""
