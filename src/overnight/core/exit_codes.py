"""The codes that a command ends with: what kind of thing happened, for scripts and for CI."""

from typing import Final

DONE: Final = 0
FAULT: Final = 1  # of Overnight's own
WRONG_USE: Final = 2  # the study, the command line, an input file or a run's folder
ROWS_FAILED: Final = 3
PROVIDER: Final = 4  # the provider or the network; also: not all is there yet
OVER_BUDGET: Final = 5
STOPPED: Final = 130  # Ctrl-C
# A thread of this name that does not end is left behind, and Python does not tidy up after it.
RAY_THREAD = "ray"
