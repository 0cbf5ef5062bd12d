"""What another Python process computes, whose sets and hashes have another order."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def printed(code: str) -> str:
    """What this code prints there; it can import what tests import."""
    paths = [str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]
    own = int(os.environ.get("PYTHONHASHSEED", "0").replace("random", "0"))
    changes = {"PYTHONHASHSEED": str(own + 1), "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **changes},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout
