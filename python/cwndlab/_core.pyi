"""The Rust core: units, and the engine behind them."""

from collections.abc import Callable
from os import PathLike
from typing import final

__all__ = [
    "BudgetError",
    "Distribution",
    "Records",
    "RunStopped",
    "Scenario",
    "Stream",
    "Table",
    "check_scenario",
    "complete_scenario",
    "default_budget",
    "empty_tables",
    "engine_digest",
    "packetdrill",
    "parse_bytes",
    "parse_quantity",
    "parse_rate",
    "parse_time",
    "run",
    "tcp_knobs",
    "tcp_profile",
    "tcp_profiles",
    "tcp_without_effect",
    "unit_factor",
    "version",
]

def version() -> str:
    """The version of the engine."""

def engine_digest() -> str:
    """Digest of all crates' sources, Cargo.lock and the compiler's version: part of every result's key."""

def parse_time(text: str) -> int:
    """Nanoseconds from "50ms"; ValueError says what would be right."""

def parse_rate(text: str) -> int:
    """Bit/s from "1.5Mbps"; ValueError says what would be right."""

def parse_bytes(text: str) -> int:
    """Bytes from "64KiB"; ValueError says what would be right."""

def parse_quantity(text: str) -> tuple[str, int | float]:
    """Kind (time, rate, size, packets, share or bdp) and value, in the kind's base unit, of "50ms" or "2%";
    ValueError says what would be right.
    """

def unit_factor(unit: str, wanted: str) -> float:
    """The factor that turns a number in `unit` into one in `wanted`; ValueError if they differ in kind."""

def tcp_profiles() -> list[str]:
    """Names of the TCP profiles, in the order of their eras."""

def tcp_profile(name: str) -> str:
    """Every knob's value in the profile of that name, as JSON; ValueError names the profiles there are."""

def tcp_without_effect(config: str) -> list[tuple[str, str]]:
    """The knobs of a configuration (JSON) that change nothing beside the others, and what each needs.

    ValueError where the configuration cannot be read.
    """

def packetdrill(
    script: str,
    profile: str,
    hz: int | None = None,
    tolerance_us: int | None = None,
    ignore_windows: bool = False,
) -> tuple[int, str, bool, list[str]] | None:
    """Runs a script: None, or the first failing line, why, whether it is unsupported, and the events before.

    `hz`: the clock of timers, a kernel's of 1000 for linux-6; `tolerance_us`: in place of the script's own;
    `ignore_windows`: the windows that expected segments offer are not compared.
    ValueError names the profiles there are, or what the clock may be.
    """

def tcp_knobs() -> str:
    """Every knob: a JSON list of name, type, what it does, and the source of each profile's value."""

def check_scenario(json: str) -> None:
    """ValueError with the place and what would be right, if the scenario can't be run."""

def complete_scenario(json: str) -> str:
    """The scenario with every default filled in; ValueError as check_scenario."""

def empty_tables() -> dict[str, Table]:
    """Every record table without rows, by its name: the schemas for records that are made elsewhere."""

@final
class Stream:
    """The random stream of one purpose (sizes, pauses, …) of a traffic entry, as the simulator's."""

    def __new__(cls, seed: int, replicate: int, traffic: str, purpose: str) -> Stream: ...

@final
class Distribution:
    """A distribution of a scenario, as JSON, and those that it may name; ValueError says what is wrong."""

    def __new__(cls, json: str, shared: str = "{}") -> Distribution: ...
    def draw(self, stream: Stream) -> float:
        """One value."""

    def draw_bytes(self, stream: Stream) -> int:
        """One size, at least 1."""

class BudgetError(RuntimeError):
    """A run that needed more than its budget. Its records are lost."""

    simulated_ns: int
    """How far it had come."""

class RunStopped(Exception):  # noqa: N818
    """A run that was asked to stop. Its records are lost."""

def default_budget() -> tuple[int, int]:
    """The budget of a run unless it is given another: events, and bytes of memory."""

def run(
    scenario_json: str,
    seed: int,
    replicate: int,
    *,
    max_events: int | None = None,
    max_memory_bytes: int | None = None,
    max_seconds: float | None = None,
    stopped: Callable[[], bool] | None = None,
) -> Records:
    """One run of a scenario; for several, make a Scenario once. Arguments and errors as Scenario.run."""

@final
class Scenario:
    """A scenario that was read and checked: ValueError has the place and what would be right."""

    def __new__(cls, json: str) -> Scenario: ...
    def run(
        self,
        seed: int,
        replicate: int,
        *,
        max_events: int | None = None,
        max_memory_bytes: int | None = None,
        max_seconds: float | None = None,
        stopped: Callable[[], bool] | None = None,
    ) -> Records:
        """One replicate, without holding the GIL. Ctrl-C ends it on the main thread.

        `max_events` and `max_memory_bytes` (estimated) default to `default_budget()`; `max_seconds` is real
        time, by default without bound. `stopped` is asked about every 100 ms.

        ValueError if two nodes that talk are not connected; BudgetError if the run needs more than it may
        use, or simulated time stands still; RunStopped if `stopped` says so; RuntimeError with the scenario's
        hash if the engine breaks.
        """

@final
class Records:
    """The tables of one run, and its totals."""

    @property
    def names(self) -> list[str]:
        """Names of the tables."""

    @property
    def packets(self) -> int:
        """Packets that crossed a link: what the engine's speed is measured in."""

    @property
    def summary(self) -> dict[str, int]:
        """Totals by name; every packet injected is delivered, dropped or in flight."""

    def table(self, name: str) -> Table:
        """A table by its name; KeyError names those there are."""

    def __getitem__(self, name: str, /) -> Table: ...
    def write_trace(
        self, path: str | PathLike[str], format: str, connection: int = 0, from_client: bool = True
    ) -> None:
        """Write the segments as seen at the observed node.

        The format is "pcapng", "ns", or "xplot" of one connection's direction; ValueError if the run
        observed no segments, OSError if the file can't be written.
        """

@final
class Table:
    """A record table. pyarrow, polars, pandas and DuckDB take it without copying its columns."""

    @property
    def column_names(self) -> list[str]:
        """Names of the columns."""

    def __len__(self) -> int: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Hand the columns over by the Arrow PyCapsule interface."""
