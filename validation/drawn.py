"""Random scenarios in the simulator and on Linux in virtual time (`cwndlab differ`)."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from cwndlab_linux.differ.differing import Differ, counts
from cwndlab_linux.virtual import doctor, images

from .row import Row

SCENARIOS, SEED = 20, 1
#: The least count of equal scenarios, by each measure of agreement.
LEAST = 19


def rows() -> Iterator[Row]:
    """The counts of equal scenarios; nothing if no kernel can be started."""
    reason = doctor.reason_not_virtual()
    if reason is not None:
        print(f"no comparison with Linux: {reason}", file=sys.stderr)
        return
    image = images.find()
    with TemporaryDirectory() as folder:
        found = Differ(SEED, (image,), Path(folder)).run(SCENARIOS, 0)
    for what, count in counts(found):
        yield Row(
            group="Scenarios drawn at random",
            check=f"{what}, of {SCENARIOS} of seed {SEED}",
            source=f"Linux {image.release} in virtual time",
            unit="scenarios",
            expected=SCENARIOS,
            measured=count,
            tolerance=SCENARIOS - LEAST,
            absolute=True,
        )
