"""Batches and files that were made elsewhere, taken over as runs."""
