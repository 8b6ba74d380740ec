"""Faults: what the emulator may be told to do wrong, at which call, row or body."""
