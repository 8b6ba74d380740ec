import sys

from overnight_emulator import main

sys.exit(main())
