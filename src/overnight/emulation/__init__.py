"""Rehearsals: the emulator that all users of a folder share, and where models are called."""

from overnight.emulation.endpoints import agree_to, endpoint_of, real_place
from overnight.emulation.rehearsal import Rehearsal, emulator
from overnight.emulation.shared_state import share_emulator

__all__ = ["Rehearsal", "agree_to", "emulator", "endpoint_of", "real_place", "share_emulator"]
