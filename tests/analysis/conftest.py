"""Test workers share the cores: threads inside each would only wait for one another."""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
