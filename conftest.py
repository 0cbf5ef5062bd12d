"""Settings of all tests."""

from __future__ import annotations

import signal

from _pytest.approx import ApproxScalar

# Numbers agree to rounding unless a test states a tolerance: with pytest's 1e-6, a wrong 1e9 would pass.
ApproxScalar.DEFAULT_RELATIVE_TOLERANCE = 1e-11
# In the background or under nohup SIGINT is ignored, which the processes that tests interrupt would inherit.
signal.signal(signal.SIGINT, signal.default_int_handler)
