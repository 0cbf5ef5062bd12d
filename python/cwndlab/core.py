"""What the rest of the package asks of the Rust core, as a protocol: `cwndlab._core` is one, tests have
another.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, cast

if TYPE_CHECKING:
    from cwndlab._core import CongestionControl

#: One replicate's value of a quantity: a number, or one number for each object.
Value = float | list[float]


class Records(Protocol):
    """The record tables of one run."""

    @property
    def names(self) -> list[str]:
        """Names of the tables that were recorded."""

    @property
    def packets(self) -> int:
        """Packet-hops simulated."""

    def table(self, name: str, /) -> Any:
        """A table with ``__arrow_c_stream__``."""

    def write_trace(self, path: str, format: str) -> None:
        """Writes the segments seen at the observation point as "pcapng", "ns" or "xplot"."""


class RunRecords(Records, Protocol):
    """The record tables of a run of the engine."""

    @property
    def digest(self) -> str:
        """SHA-256 over all tables, in hexadecimal: equal for equal records, on every platform."""

    def without(self, names: Sequence[str], /) -> RunRecords:
        """The records of the same run with the probes off that fill these tables of senders."""


class Scenario(Protocol):
    """A scenario that was read and checked, to be run as often as wanted."""

    def run(
        self,
        seed: int,
        replicate: int,
        /,
        *,
        max_events: int | None = None,
        max_memory_bytes: int | None = None,
        max_seconds: float | None = None,
        stopped: Callable[[], bool] | None = None,
        laws: Mapping[str, type[CongestionControl]] | None = None,
    ) -> RunRecords:
        """One replicate; the GIL is released. `_core.BudgetError` if it needs more than it may use (None: the
        engine's default), `_core.RunStopped` if `stopped` says so. `laws`: congestion controls in Python by
        their digests; the GIL is held then.
        """


class Core(Protocol):
    """The engine behind one function each."""

    def __hash__(self) -> int:
        """By identity: what one core has read belongs to it alone."""

    def version(self) -> str:
        """Version of the engine."""

    def engine_digest(self) -> str:
        """Digest of the engine's sources and compiler: part of every result's key."""

    def tcp_profile(self, name: str, /) -> str:
        """A profile's endpoint configuration as JSON; ValueError names the profiles there are."""

    def tcp_choices(self, name: str, /) -> str:
        """The alternatives and switches of a profile, as JSON; ValueError if the profile does not exist."""

    def tcp_without_effect(self, config: str, /) -> list[tuple[str, str]]:
        """The knobs of a configuration (JSON) without effect given the others, and what each requires."""

    def check_scenario(self, scenario: str, /) -> None:
        """ValueError with the place if the engine could not run this scenario."""

    def complete_scenario(self, scenario: str, /) -> str:
        """The scenario with every default of the engine filled in."""

    def Scenario(self, scenario: str, /) -> Scenario:  # noqa: N802 - a class of the core
        """The scenario, read and checked once for all its replicates; ValueError as check_scenario."""

    def run(
        self,
        scenario: str,
        seed: int,
        replicate: int,
        /,
        *,
        max_events: int | None = None,
        max_memory_bytes: int | None = None,
        max_seconds: float | None = None,
        stopped: Callable[[], bool] | None = None,
        laws: Mapping[str, type[CongestionControl]] | None = None,
    ) -> RunRecords:
        """One replicate of a scenario, as `Scenario.run`."""


_replaced: Core | None = None


def core() -> Core:
    """The Rust core."""
    if _replaced is not None:
        return _replaced
    from cwndlab import _core

    return cast(Core, _core)


def replace_core(other: Core | None) -> None:
    """Puts another core in its place (None: the Rust core again); for tests."""
    global _replaced
    _replaced = other
