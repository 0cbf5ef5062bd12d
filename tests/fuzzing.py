"""How much the fuzz tests try: a little in every test run, for as long as it is given in `make fuzz`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis.database import DirectoryBasedExampleDatabase


class Seeds(DirectoryBasedExampleDatabase):
    """Deletes only what this process saved: an input that failed once stays, though it passes now."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._saved: set[tuple[bytes, bytes]] = set()

    def save(self, key: bytes, value: bytes) -> None:
        if value not in set(self.fetch(key)):
            self._saved.add((key, value))
            super().save(key, value)

    def delete(self, key: bytes, value: bytes) -> None:
        if (key, value) in self._saved:
            super().delete(key, value)


#: Inputs that once failed, found by `make fuzz` and tried first ever after; committed with the fix. They are
#: known by the source of their test, so a change of that source finds them again.
SEEDS = Seeds(Path(__file__).parent / "fuzz-seeds")

#: Set by `make fuzz`: so many times the usual number of examples, drawn again each time.
FACTOR = int(os.environ.get("CWNDLAB_FUZZ", "1"))


def tries(examples: int) -> settings:
    """So many examples in a test run, after the kept ones; many more in `make fuzz`."""
    return settings(
        max_examples=examples * FACTOR,
        database=SEEDS,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
    )


class Answers:
    """How many inputs of a fuzz test were accepted, and how many were rejected with an error that says why.

    A test that rejects everything, or accepts everything, shows nothing of the other half.
    """

    def __init__(self) -> None:
        self.accepted = self.rejected = 0

    @contextmanager
    def counted(self, error: type[Exception] | tuple[type[Exception], ...]) -> Iterator[None]:
        """Counts one input, which may raise these errors and no others."""
        try:
            yield
        except error as raised:
            assert str(raised)
            self.rejected += 1
        else:
            self.accepted += 1

    def check(self, *, accepted: float, rejected: float) -> None:
        """Both answers were given to at least these shares of the inputs."""
        tried = self.accepted + self.rejected
        assert self.accepted >= accepted * tried, f"{self.accepted} of {tried} inputs were accepted"
        assert self.rejected >= rejected * tried, f"{self.rejected} of {tried} inputs were rejected"
