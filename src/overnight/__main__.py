"""`python -m overnight` is `overnight`."""

import sys

from overnight.cli import main

sys.exit(main())
