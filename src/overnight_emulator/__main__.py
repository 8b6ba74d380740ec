"""`python -m overnight_emulator` starts the emulator."""

import sys

from overnight_emulator import main

sys.exit(main())
