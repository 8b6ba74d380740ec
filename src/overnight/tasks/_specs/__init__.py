"""Specifications and their inputs, and SpecEval's own flags and folders."""
