"""The Rust core: units, and the engine behind them."""

from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from random import Random
from typing import ClassVar, Protocol, Self, final, type_check_only

from typing_extensions import disjoint_base

__all__ = [
    "AckReport",
    "Application",
    "BudgetError",
    "Capture",
    "CapturedSegment",
    "Command",
    "CongestionControl",
    "LawFailed",
    "LossEvent",
    "RateSample",
    "Records",
    "RunStopped",
    "Scenario",
    "Table",
    "check_scenario",
    "complete_scenario",
    "default_budget",
    "engine_digest",
    "packetdrill",
    "parse_bytes",
    "parse_quantity",
    "parse_rate",
    "parse_time",
    "read_capture",
    "read_kernel_run",
    "record_tables",
    "run",
    "tcp_choices",
    "tcp_knobs",
    "tcp_profile",
    "tcp_profiles",
    "tcp_renamed",
    "tcp_without_effect",
    "time_budgets",
    "toml_places",
    "unit_factor",
    "version",
]

@type_check_only
class ArrowStream(Protocol):
    """A table of any library that speaks the Arrow PyCapsule interface."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object: ...

def version() -> str:
    """The version of the engine."""

def record_tables() -> list[str]:
    """The names of all record tables."""

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

def toml_places(text: str) -> list[tuple[list[str | int], int, int]]:
    """The place of every key and list element in a TOML text: its path, line and column, both from 1.

    Empty where the text is not TOML.
    """

def tcp_profiles() -> list[str]:
    """Names of the TCP profiles, in the order of their eras."""

def tcp_choices(name: str) -> str:
    """What words stand for in a profile, as JSON: alternatives by knob and word, switches by knob."""

def tcp_renamed() -> list[tuple[str, str]]:
    """Names that knobs had in earlier versions, and where they are now."""

def tcp_profile(name: str) -> str:
    """Every knob's value in the profile of that name, as JSON; ValueError names the profiles there are."""

def tcp_without_effect(config: str) -> list[tuple[str, str]]:
    """The knobs of a configuration (JSON) that change nothing next to the others, and what each needs.

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

@final
class CapturedSegment:
    """A TCP segment as it was captured."""

    @property
    def time_ns(self) -> int:
        """Since the first packet of the capture."""

    @property
    def from_first(self) -> bool:
        """Whether the end that was seen first sent it."""

    @property
    def seq(self) -> int:
        """Sequence number."""

    @property
    def ack(self) -> int:
        """Acknowledgment number."""

    @property
    def len(self) -> int:
        """Bytes of payload by its headers; the capture may hold fewer."""

    @property
    def window(self) -> int:
        """As in the header, not scaled."""

    @property
    def flags(self) -> int:
        """The octet with FIN in its lowest bit."""

    @property
    def mss(self) -> int | None:
        """Maximum segment size option."""

    @property
    def scale(self) -> int | None:
        """Window scale option, at most 14."""

    @property
    def ts(self) -> tuple[int, int] | None:
        """TSval and TSecr."""

    @property
    def sack(self) -> Sequence[tuple[int, int] | None]:
        """Four SACK blocks, or None in their place."""

@final
class Capture:
    """The TCP connections of a capture, in order of their first segments."""

    @property
    def cut(self) -> str | None:
        """Why its end is missing, if it is."""

    def ends(self, connection: int) -> tuple[str, str]:
        """Addresses and ports of a connection's ends; the one that was seen first comes first."""

    def segments(self, connection: int) -> list[CapturedSegment]:
        """The segments of a connection."""

    def __len__(self) -> int: ...

def read_capture(path: str | PathLike[str], *, most_segments: int, most_bytes: int) -> Capture:
    """Reads a pcap or pcapng file, also packed with gzip, up to so many segments and unpacked bytes.

    OSError if it cannot be read, ValueError if it is no capture or has no packets of a known link type.
    """

def read_kernel_run(
    scenario_json: str,
    testbed_json: str,
    trace: str | PathLike[str],
    *,
    snapshots_ns: Sequence[int],
    observed_port: int | None,
    everywhere: bool,
    from_first_data: bool,
    answer_ns: int,
) -> tuple[dict[str, Table], int]:
    """The record tables of a run on a kernel, and their time 0 on the router's clock.

    From the testbed's result and the router's trace, next to which a file of queue samples may lie.
    `snapshots_ns`: when counters were taken; `observed_port`: whose packets are segments, None for none;
    `everywhere`: those of all hosts are, so that a packet that arrives has two rows; `from_first_data`:
    whether the clock starts with the first data packet; `answer_ns`: a segment sent again within this time
    after another arrived is taken as its answer, not as a timer's. ValueError names the trace's line.
    """

def time_budgets(
    scenario_json: str, tables: Mapping[str, ArrowStream], until_ns: int, kind: str | None = None
) -> Table:
    """The time budgets of a run's finished objects and of its connections, or of one kind of them.

    `tables`: connections, objects, limits, states, timeouts, cwnd, delays; what happened at `until_ns` or
    later is not looked at, unless that is the end of the run. A row has `traffic` (its index), `kind`,
    `index`, `start_ns`, `end_ns` and the nanoseconds of each part, as `slow-start_ns`, which add up to
    `end_ns - start_ns`. ValueError names the table and column that does not fit.
    """

@disjoint_base
class Command:
    """What an application asks for; one class for each kind. `client` says which end of the connection."""

    @final
    class Connect(Command):
        """Open a connection of this number."""

        __match_args__: ClassVar[tuple[str, ...]] = ("conn",)
        @property
        def conn(self) -> int: ...
        def __new__(cls, conn: int) -> Self: ...

    @final
    class Open(Command):
        """Open a flow of datagrams of this number."""

        __match_args__: ClassVar[tuple[str, ...]] = ("conn",)
        @property
        def conn(self) -> int: ...
        def __new__(cls, conn: int) -> Self: ...

    @final
    class Send(Command):
        """Send a datagram: bytes of the IP packet and of its payload, ECN codepoint (0 to 3)."""

        __match_args__: ClassVar[tuple[str, ...]] = ("conn", "client", "bytes", "payload", "ecn")
        @property
        def conn(self) -> int: ...
        @property
        def client(self) -> bool: ...
        @property
        def bytes(self) -> int: ...
        @property
        def payload(self) -> int: ...
        @property
        def ecn(self) -> int: ...
        def __new__(cls, conn: int, client: bool, bytes: int, payload: int, ecn: int) -> Self: ...

    @final
    class Write(Command):
        """Append so many bytes to the send stream of one end."""

        __match_args__: ClassVar[tuple[str, ...]] = ("conn", "client", "bytes")
        @property
        def conn(self) -> int: ...
        @property
        def client(self) -> bool: ...
        @property
        def bytes(self) -> int: ...
        def __new__(cls, conn: int, client: bool, bytes: int) -> Self: ...

    @final
    class Close(Command):
        """No more writes from this end: FIN, on the last data segment if that has not gone yet."""

        __match_args__: ClassVar[tuple[str, ...]] = ("conn", "client")
        @property
        def conn(self) -> int: ...
        @property
        def client(self) -> bool: ...
        def __new__(cls, conn: int, client: bool) -> Self: ...

    @final
    class NotifyAt(Command):
        """Call `delivered` once, as soon as the bytes received in order at this end reach `total`."""

        __match_args__: ClassVar[tuple[str, ...]] = ("conn", "client", "total")
        @property
        def conn(self) -> int: ...
        @property
        def client(self) -> bool: ...
        @property
        def total(self) -> int: ...
        def __new__(cls, conn: int, client: bool, total: int) -> Self: ...

    @final
    class Hold(Command):
        """Bytes received at this end stay in its buffer until they are read."""

        __match_args__: ClassVar[tuple[str, ...]] = ("conn", "client")
        @property
        def conn(self) -> int: ...
        @property
        def client(self) -> bool: ...
        def __new__(cls, conn: int, client: bool) -> Self: ...

    @final
    class Read(Command):
        """Read so many of the bytes that have arrived at this end."""

        __match_args__: ClassVar[tuple[str, ...]] = ("conn", "client", "bytes")
        @property
        def conn(self) -> int: ...
        @property
        def client(self) -> bool: ...
        @property
        def bytes(self) -> int: ...
        def __new__(cls, conn: int, client: bool, bytes: int) -> Self: ...

    @final
    class Timer(Command):
        """Call `timer` at this time. An application has one timer: a new one replaces the old."""

        __match_args__: ClassVar[tuple[str, ...]] = ("at_ns",)
        @property
        def at_ns(self) -> int: ...
        def __new__(cls, at_ns: int) -> Self: ...

    @final
    class Record(Command):
        """A page, file, transaction or object; without an end if it is unfinished."""

        __match_args__: ClassVar[tuple[str, ...]] = (
            "kind",
            "index",
            "start_ns",
            "end_ns",
            "bytes",
            "connections",
        )
        @property
        def kind(self) -> str: ...
        @property
        def index(self) -> int: ...
        @property
        def start_ns(self) -> int: ...
        @property
        def end_ns(self) -> int | None: ...
        @property
        def bytes(self) -> int: ...
        @property
        def connections(self) -> int: ...
        def __new__(
            cls, kind: str, index: int, start_ns: int, end_ns: int | None, bytes: int, connections: int
        ) -> Self: ...

@final
class Application:
    """An application of a scenario (`Scenario.application`), to be driven on any network.

    Each method reports an event at a time in nanoseconds of any clock that does not go back, and returns the
    commands to be carried out in order. `conn` is a number of the application's own; `client` says which end.
    """

    def start(self, now_ns: int) -> list[Command]:
        """Its start time has come; once, before anything else."""

    def timer(self, now_ns: int) -> list[Command]:
        """Its timer has expired."""

    def established(self, now_ns: int, conn: int, client: bool) -> list[Command]:
        """One end of a connection is established."""

    def delivered(self, now_ns: int, conn: int, client: bool, total: int) -> list[Command]:
        """The bytes received in order at one end, `total`, have reached what `NotifyAt` asked for."""

    def peer_closed(self, now_ns: int, conn: int, client: bool) -> list[Command]:
        """One end has received the other's FIN."""

    def finished(self, now_ns: int, conn: int, failed: bool) -> list[Command]:
        """Both ends of a connection are gone: closed, or failed. The number may be used again."""

    def end(self, now_ns: int) -> list[Command]:
        """The run ends: what is under way is recorded as unfinished."""

@final
class AckReport:
    """What one ACK told the sender. Times are simulated seconds from the start of the run."""

    @property
    def now_s(self) -> float:
        """When the ACK arrived."""

    @property
    def mss(self) -> int:
        """Payload bytes of a full segment."""

    @property
    def growth_bytes(self) -> int:
        """Bytes by which congestion avoidance may be credited for this ACK.

        The acknowledged bytes that may open the window: 0 in recovery and where cwnd did not limit the
        sender, and less what the engine's slow start has used.
        """

    @property
    def acked_bytes(self) -> int:
        """Payload bytes newly acknowledged cumulatively."""

    @property
    def sacked_bytes(self) -> int:
        """Payload bytes newly reported by SACK."""

    @property
    def delivered_bytes(self) -> int:
        """Payload bytes newly known to have arrived: acknowledged or reported, and not known before."""

    @property
    def lost_bytes(self) -> int:
        """Bytes newly deemed lost."""

    @property
    def prior_flight_bytes(self) -> int:
        """Bytes sent and not cumulatively acknowledged before this ACK."""

    @property
    def in_flight_bytes(self) -> int:
        """Bytes thought to be in the network: neither acknowledged, nor reported by SACK, nor lost."""

    @property
    def prior_in_flight_bytes(self) -> int:
        """The same before this ACK."""

    @property
    def ce_bytes(self) -> int:
        """Of `delivered_bytes`, those that the receiver reports as having met congestion (CE)."""

    @property
    def rtt_s(self) -> float | None:
        """Round-trip time measured by this ACK, if it gives one."""

    @property
    def srtt_s(self) -> float:
        """Smoothed round-trip time, this measurement included; 0 before the first."""

    @property
    def rate(self) -> RateSample | None:
        """The delivery rate, if this ACK gives a sample."""

    @property
    def snd_una(self) -> int:
        """Position in the stream of the first unacknowledged byte, with this ACK; starts at 1."""

    @property
    def snd_nxt(self) -> int:
        """Position of the next byte to send. A round trip ends once `snd_una` passes an earlier value."""

    @property
    def ece(self) -> bool:
        """Whether the ACK carries an ECN echo."""

    @property
    def in_recovery(self) -> bool:
        """Whether the sender is in loss recovery, with this ACK."""

@final
class RateSample:
    """How fast the network delivered, from a segment's transmission to its acknowledgment."""

    @property
    def delivered_bytes(self) -> int:
        """Bytes delivered meanwhile."""

    @property
    def interval_s(self) -> float:
        """How long that took: the longer of the times to send it and to acknowledge it."""

    @property
    def rate_bps(self) -> float | None:
        """Their quotient in bit/s; None if the interval is 0."""

    @property
    def prior_delivered_bytes(self) -> int:
        """Bytes delivered in all when the segment was sent, which delimits round trips."""

    @property
    def min_rtt_s(self) -> float | None:
        """Least round-trip time of the last 10 s."""

    @property
    def app_limited(self) -> bool:
        """Whether the application limited the sender meanwhile."""

    @property
    def retransmission(self) -> bool:
        """Whether the segment had been sent before."""

@final
class LossEvent:
    """Why the window must shrink."""

    @property
    def now_s(self) -> float:
        """When it was found, in simulated seconds."""

    @property
    def kind(self) -> str:
        """ "loss", "ecn" or "timeout"."""

    @property
    def repeated(self) -> bool:
        """Whether it is a further timeout of the same data."""

    @property
    def flight_bytes(self) -> int:
        """Bytes sent and not cumulatively acknowledged (RFC 5681's FlightSize)."""

    @property
    def mss(self) -> int:
        """Payload bytes of a full segment."""

@disjoint_base
class CongestionControl:
    """Base class of congestion controls in Python; the engine makes one object per end of a connection.

    A subclass defines `on_ack` and `on_loss`, and may define the other calls. It must take time and random
    numbers from its arguments and attributes alone, so that a run gives the same numbers each time.
    """

    uses_slow_start: bool
    """Class attribute: whether the engine's slow start opens the window up to `ssthresh_bytes`."""

    owns_recovery: bool
    """Class attribute: whether `cwnd_bytes` counts in recovery too. If not, the engine sets it there."""

    uses_random: bool
    """Class attribute: whether it draws random numbers, so that replicates differ."""

    def __new__(cls, *_arguments: object, **_keywords: object) -> Self: ...
    @property
    def cwnd_bytes(self) -> float:
        """The congestion window. Whole bytes count, and at least one segment. In recovery, after timeouts and
        after idle times the engine sets it, so read it at each call.
        """

    @cwnd_bytes.setter
    def cwnd_bytes(self, value: float) -> None: ...
    @property
    def ssthresh_bytes(self) -> float:
        """The slow-start threshold, infinite at first; also the window at which loss recovery ends. After
        `on_loss` it is `cwnd_bytes`, unless `on_loss` sets it.
        """

    @ssthresh_bytes.setter
    def ssthresh_bytes(self, value: float) -> None: ...
    @property
    def pacing_rate_bps(self) -> float | None:
        """The rate at which data leaves, in bit/s. None: as the study's `pacing` says."""

    @pacing_rate_bps.setter
    def pacing_rate_bps(self, value: float | None) -> None: ...
    @property
    def random(self) -> Random:
        """Random numbers of its own, seeded by seed, replicate and flow; needs `uses_random = True`."""

    def on_start(self, now_s: float, mss: int, /) -> None:
        """The connection is established; `cwnd_bytes` is the configured initial window."""

    def on_ack(self, ack: AckReport, /) -> None:
        """An ACK that tells something, in recovery too."""

    def on_loss(self, event: LossEvent, /) -> None:
        """Losses or an ECN echo, once per episode; also called by `on_timeout`. Reduces `cwnd_bytes`."""

    def on_timeout(self, event: LossEvent, /) -> None:
        """The retransmission timer has expired. The default follows RFC 5681, section 3.1: it calls `on_loss`
        unless the timeout is repeated, and leaves a window of one segment.
        """

    def on_undo(self, now_s: float, /) -> None:
        """The last reduction was spurious; `cwnd_bytes` is again at least what it was before."""

class LawFailed(RuntimeError):  # noqa: N818
    """A run whose congestion control raised an exception. The message names file, line, flow and time."""

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
    laws: Mapping[str, type[CongestionControl]] | None = None,
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
        laws: Mapping[str, type[CongestionControl]] | None = None,
    ) -> Records:
        """One replicate, without holding the GIL unless it has `laws`. Ctrl-C ends it on the main thread.

        `max_events` and `max_memory_bytes` (estimated) default to `default_budget()`; `max_seconds` is real
        time, by default without bound. `stopped` is asked about every 100 ms. `laws`: the congestion controls
        in Python by the digests that the scenario names them by.

        ValueError if two nodes that talk are not connected; BudgetError if the run needs more than it may
        use, or simulated time stands still; LawFailed if a congestion control in Python raises; RunStopped if
        `stopped` says so; RuntimeError with the scenario's hash if the engine breaks.
        """

    def application(self, traffic: int, segment_bytes: int, seed: int, replicate: int) -> Application:
        """The application of a traffic entry, drawing the same numbers as in `run`.

        `segment_bytes` is the payload of a full segment where it is driven. ValueError if there is no such
        entry.
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
    def digest(self) -> str:
        """SHA-256 over all tables, in hexadecimal: equal for equal records, on every platform."""

    def without(self, names: Sequence[str]) -> Records:
        """The records of the same run with the probes off that fill these tables ("cwnd", "limits", "states",
        "timeouts", "delays"); other tables stay.
        """

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

    def column(self, name: str) -> tuple[str, bytes, list[str] | None] | None:
        """A column as numpy reads it, copied: the type, the values, and the words if the values are codes.

        Null is -1 in whole numbers and codes, NaN in others. None for lists, and for truth values with nulls.
        """

    def __len__(self) -> int: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Hand the columns over by the Arrow PyCapsule interface."""
