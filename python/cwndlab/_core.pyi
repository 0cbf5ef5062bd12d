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
    "CapturedEnd",
    "CapturedSegment",
    "Command",
    "CongestionControl",
    "Faults",
    "LawFailed",
    "LossEvent",
    "NativeLaw",
    "RateSample",
    "Records",
    "RunStopped",
    "Scenario",
    "ScenarioRefused",
    "Table",
    "check_scenario",
    "complete_scenario",
    "default_budget",
    "engine_digest",
    "kinds",
    "packetdrill",
    "parse_bytes",
    "parse_quantity",
    "parse_rate",
    "parse_time",
    "read_capture",
    "read_kernel_run",
    "record_tables",
    "run",
    "stack_versions",
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
    """A table of any library with the Arrow PyCapsule interface."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object: ...

def version() -> str:
    """The version of the engine."""

def record_tables() -> list[str]:
    """The names of all record tables."""

def engine_digest() -> str:
    """Digest of all crates' sources, Cargo.lock and the compiler's version: part of every result's key."""

def stack_versions() -> dict[str, str]:
    """The QUIC stacks of this build: the crate and version of each, by name."""

def parse_time(text: str) -> int:
    """Parses a time such as "50ms". Returns nanoseconds. Raises ValueError if it is malformed."""

def parse_rate(text: str) -> int:
    """Parses a rate such as "1.5Mbps". Returns bit/s. Raises ValueError if it is malformed."""

def parse_bytes(text: str) -> int:
    """Parses a size such as "64KiB". Returns bytes. Raises ValueError if it is malformed."""

def parse_quantity(text: str) -> tuple[str, int | float]:
    """Parses a quantity of any kind. Returns its kind and value: "50ms" is `("time", 50000000)`.

    The kinds are time, rate, size, packets, share and bdp. Raises ValueError if the text is malformed.
    """

def unit_factor(unit: str, wanted: str) -> float:
    """The factor that converts a number in `unit` to `wanted`. Raises ValueError if they differ in kind."""

def toml_places(text: str) -> list[tuple[list[str | int], int, int]]:
    """The place of every key and list element, in the order of the text: its path, line and column.

    Lines and columns (in characters) count from 1. The list is empty if the text is not TOML.
    """

def tcp_profiles() -> list[str]:
    """Names of the TCP profiles, in the order of their eras."""

def tcp_choices(name: str) -> str:
    """The alternatives and switches of the profile `name`, as JSON.

    `alternatives` maps a knob and each of its words to the knobs of that alternative; `switches` maps each
    part that can be switched off to its knobs. Raises ValueError, which lists the profiles.
    """

def tcp_renamed() -> list[tuple[str, str]]:
    """Knobs that were renamed: each with its name in an earlier version and its current name."""

def tcp_profile(name: str) -> str:
    """The value of every knob in the profile `name`, as JSON. Raises ValueError, which lists the profiles."""

def tcp_without_effect(config: str) -> list[tuple[str, str]]:
    """The knobs of a configuration (JSON) that have no effect given the other knobs, and what each requires.

    Raises ValueError if the text is not a configuration.
    """

def packetdrill(
    script: str,
    profile: str,
    hz: int | None = None,
    tolerance_us: int | None = None,
    ignore_windows: bool = False,
) -> tuple[int, str, bool, list[str]] | None:
    """Runs a packetdrill script against an endpoint with the given profile.

    Timers tick `hz` times a second (by default as in the profile, but 1000 for `linux-6`). If
    `tolerance_us` is given, it replaces the script's tolerance of event times. If `ignore_windows` is True,
    advertised windows are not compared.

    Returns None if the script succeeds. Otherwise returns the failing line, the message, whether the script
    needs an unsupported feature, and the last events before the failure. Raises ValueError if the profile
    does not exist or `hz` is out of range.
    """

def tcp_knobs() -> str:
    """Every knob: a JSON list of name, type, what it does, and the source of each profile's value."""

def kinds() -> str:
    """The kinds of `queue`, `impairment`, `app` and `stack`: a JSON schema of each, with descriptions and
    defaults.
    """

class ScenarioRefused(ValueError):  # noqa: N818
    """A scenario that cannot be run."""

    refusals: list[tuple[list[str], str, tuple[bool, str, list[str]] | None]]
    """Each reason: the keys and indices that lead to the value in the scenario, and what is wrong.

    If the problem is a name that is not known: whether it is a key, the name, and the known names.
    """

def check_scenario(json: str) -> None:
    """Checks a scenario. If it cannot be run, raises ScenarioRefused."""

def complete_scenario(json: str) -> str:
    """The scenario with every default filled in. Raises ScenarioRefused as `check_scenario` does."""

@final
class CapturedSegment:
    """A TCP segment as it was captured."""

    @property
    def time_ns(self) -> int:
        """Time since the first packet of the capture."""

    @property
    def from_first(self) -> bool:
        """Whether the sender is the end that sent the connection's first captured segment."""

    @property
    def seq(self) -> int:
        """Offset in its sender's data; without a SYN, from the least number that was captured."""

    @property
    def ack(self) -> int:
        """Offset in its receiver's data; 0 if it acknowledges nothing."""

    @property
    def len(self) -> int:
        """Bytes of payload according to the headers; the capture may contain fewer."""

    @property
    def window(self) -> int:
        """The header's window field, without scaling."""

    @property
    def flags(self) -> int:
        """The octet of flags whose lowest bit is FIN."""

    @property
    def mss(self) -> int | None:
        """Maximum segment size option; None if the segment has none."""

    @property
    def scale(self) -> int | None:
        """Window scale option, limited to 14; None if the segment has none."""

    @property
    def ts(self) -> tuple[int, int] | None:
        """TSval and TSecr; None if the segment has no timestamps option."""

    @property
    def sack(self) -> list[tuple[int, int]]:
        """SACK blocks, as offsets in its receiver's data."""

    @property
    def options_cut(self) -> bool:
        """Whether options of its header were not captured."""

@final
class CapturedEnd:
    """What the segments of one end say of it."""

    @property
    def opened(self) -> bool:
        """Whether its SYN was captured."""

    @property
    def mss(self) -> int | None:
        """Maximum segment size option of its SYN."""

    @property
    def scale(self) -> int | None:
        """Window scale option of its SYN."""

    @property
    def bytes(self) -> int:
        """Its payload."""

    @property
    def largest(self) -> int:
        """The payload of its largest segment."""

    @property
    def stamped(self) -> bool:
        """Whether segments with data have timestamps."""

    @property
    def options_cut(self) -> bool:
        """Whether options of its headers were not captured."""

    @property
    def acknowledged(self) -> int:
        """The highest offset in its data that the other end acknowledged."""

@final
class Faults:
    """What was wrong with the capture of a connection."""

    @property
    def copies(self) -> int:
        """Copies of packets that were captured several times, which were left out."""

    @property
    def ttls(self) -> tuple[int, int] | None:
        """The time to live of two copies of a packet, if it differs."""

    @property
    def interfaces(self) -> bool:
        """Whether the copies are of several interfaces."""

    @property
    def damaged(self) -> int:
        """Segments with a wrong checksum or impossible numbers, which were left out."""

    @property
    def damaged_bytes(self) -> list[int]:
        """The payload of these, of the first end and of the other."""

    @property
    def fragmented(self) -> int:
        """Segments that came as fragments of IP."""

    @property
    def span_ns(self) -> tuple[int, int] | None:
        """The times of the first and the last packet, with those that were left out."""

@final
class Capture:
    """The TCP connections of a capture, in order of their first segments."""

    @property
    def cut(self) -> str | None:
        """Why only the beginning of the capture was read; None if the whole capture was read."""

    @property
    def headers_cut(self) -> int:
        """Packets that were cut within the header of TCP, and left out."""

    @property
    def steps(self) -> list[tuple[int, int]]:
        """When the clock was set, in ns of corrected times, and how far back; negative if forward."""

    @property
    def tick_ns(self) -> int:
        """The longest time, in nanoseconds, of which all times are multiples."""

    def ends(self, connection: int) -> tuple[str, str]:
        """Addresses and ports of a connection's ends: first the end that sent the first captured segment."""

    def take_segments(self, connection: int) -> list[CapturedSegment]:
        """The next segments of a connection, which it does not keep; none at its end."""

    def end(self, connection: int, first: bool) -> CapturedEnd:
        """What the segments of a connection's first end say of it, or those of its other end."""

    def faults(self, connection: int) -> Faults:
        """What was wrong with the capture of a connection."""

    def __len__(self) -> int: ...

def read_capture(path: str | PathLike[str], *, most_segments: int, most_bytes: int) -> Capture:
    """Reads a pcap or pcapng file, which may be compressed with gzip.

    Reads at most `most_segments` TCP segments, and at most `most_bytes` bytes of the uncompressed file.
    Raises OSError if the file cannot be read, and ValueError if it is not a capture or its link type is not
    supported.
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
    """Reads a run on a kernel from the testbed's result and the router's trace.

    Also reads the file of queue samples next to the trace if it exists. Returns the record tables, and the
    time on the router's clock that is time 0 in the tables.

    - `snapshots_ns`: the times of the snapshots, at which counters were read.
    - `observed_port`: the host at this port of the router is observed: the segments table has its packets.
      If None, no host is observed.
    - `everywhere`: if True, all hosts are observed. A packet that arrives then has two rows, as sent and as
      received.
    - `from_first_data`: if True, time 0 of the tables is when the first data packet was sent; otherwise it is
      when the workload started.
    - `answer_ns`: a retransmission within this time after a packet arrived at its sender counts as a response
      to that packet, not as caused by a timeout.

    Raises ValueError, which names the line of the trace that is wrong.
    """

def time_budgets(
    scenario_json: str, tables: Mapping[str, ArrowStream], until_ns: int, kind: str | None = None
) -> Table:
    """The time budgets of a run's finished objects and of its connections.

    If `kind` is given, returns only the budgets of this kind. `tables` must include connections, objects,
    limits, states, timeouts, cwnd and delays. Events at `until_ns` or later are ignored, unless `until_ns` is
    the end of the run. A row has `traffic` (an index), `kind`, `index`, `start_ns`, `end_ns` and a column of
    nanoseconds for each part, such as `slow-start_ns`; the parts add up to `end_ns - start_ns`. Raises
    ValueError, which names the table that is missing, or the table and column that is wrong.
    """

@disjoint_base
class Command:
    """A command of an application; one class for each kind. `client`: whether it is for the client's end."""

    @final
    class Connect(Command):
        """Open a connection with this number."""

        __match_args__: ClassVar[tuple[str, ...]] = ("conn",)
        @property
        def conn(self) -> int: ...
        def __new__(cls, conn: int) -> Self: ...

    @final
    class Open(Command):
        """Open a datagram flow with this number."""

        __match_args__: ClassVar[tuple[str, ...]] = ("conn",)
        @property
        def conn(self) -> int: ...
        def __new__(cls, conn: int) -> Self: ...

    @final
    class Send(Command):
        """Send a datagram at once.

        `bytes` is the size of its IP packet, `payload` the size of its payload, `ecn` its ECN codepoint
        (0 to 3).
        """

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
        """Append this many bytes to the send stream of one end."""

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
        """Close this end: it writes no more.

        The FIN is sent on the last data segment, or by itself if that segment was sent already.
        """

        __match_args__: ClassVar[tuple[str, ...]] = ("conn", "client")
        @property
        def conn(self) -> int: ...
        @property
        def client(self) -> bool: ...
        def __new__(cls, conn: int, client: bool) -> Self: ...

    @final
    class NotifyAt(Command):
        """Call `delivered` once, as soon as this end has received `total` bytes in order."""

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
        """Keep the bytes received at this end in its buffer until they are read."""

        __match_args__: ClassVar[tuple[str, ...]] = ("conn", "client")
        @property
        def conn(self) -> int: ...
        @property
        def client(self) -> bool: ...
        def __new__(cls, conn: int, client: bool) -> Self: ...

    @final
    class Read(Command):
        """Read this many of the bytes that have arrived at this end."""

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
        """Call `timer` at this time, replacing the previous timer."""

        __match_args__: ClassVar[tuple[str, ...]] = ("at_ns",)
        @property
        def at_ns(self) -> int: ...
        def __new__(cls, at_ns: int) -> Self: ...

    @final
    class Record(Command):
        """Record a web page, file, transaction or object. `end_ns` is None if the object is unfinished."""

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
    commands to be carried out in order. `conn` is the number that the application gave to the connection;
    `client` states whether the event happened at the client's end.
    """

    def start(self, now_ns: int) -> list[Command]:
        """Reports that the application's start time has come. Must be called once, before other methods."""

    def timer(self, now_ns: int) -> list[Command]:
        """Reports that the application's timer has expired."""

    def established(self, now_ns: int, conn: int, client: bool) -> list[Command]:
        """Reports that one end of a connection is established."""

    def delivered(self, now_ns: int, conn: int, client: bool, total: int) -> list[Command]:
        """Reports that one end has received in order the `total` bytes of its `NotifyAt` command."""

    def peer_closed(self, now_ns: int, conn: int, client: bool) -> list[Command]:
        """Reports that one end has received the other's FIN."""

    def finished(self, now_ns: int, conn: int, failed: bool) -> list[Command]:
        """Reports that both ends of a connection have closed, or that the connection has failed.

        The application may use the connection's number again.
        """

    def end(self, now_ns: int) -> list[Command]:
        """Reports the end of the run. The returned commands record objects in progress as unfinished."""

@final
class AckReport:
    """The information that a congestion control receives about one ACK.

    Times are simulated seconds from the start of the run.
    """

    @property
    def now_s(self) -> float:
        """When the ACK arrived."""

    @property
    def mss(self) -> int:
        """Payload bytes of a full segment."""

    @property
    def growth_bytes(self) -> int:
        """Acknowledged bytes for which congestion avoidance may open the window.

        0 during recovery, and if cwnd did not limit the sender. Bytes that the engine's slow start has used
        to open the window are not included.
        """

    @property
    def acked_bytes(self) -> int:
        """Payload bytes that this ACK newly acknowledges, cumulatively."""

    @property
    def sacked_bytes(self) -> int:
        """Payload bytes that this ACK newly reports by SACK."""

    @property
    def delivered_bytes(self) -> int:
        """Payload bytes that this ACK is the first to report as arrived, cumulatively or by SACK."""

    @property
    def lost_bytes(self) -> int:
        """Bytes that the sender newly considers lost because of this ACK."""

    @property
    def prior_flight_bytes(self) -> int:
        """Bytes sent and not cumulatively acknowledged before this ACK."""

    @property
    def in_flight_bytes(self) -> int:
        """Estimated bytes in the network: neither acknowledged, nor reported by SACK, nor lost."""

    @property
    def prior_in_flight_bytes(self) -> int:
        """Estimated bytes in the network before this ACK."""

    @property
    def ce_bytes(self) -> int:
        """The part of `delivered_bytes` that the receiver reports as marked CE."""

    @property
    def rtt_s(self) -> float | None:
        """Round-trip time measured by this ACK; None if this ACK gives no measurement."""

    @property
    def srtt_s(self) -> float:
        """Smoothed round-trip time, including the measurement by this ACK; 0 before the first measurement."""

    @property
    def rate(self) -> RateSample | None:
        """The delivery rate sample of this ACK; None if there is none."""

    @property
    def snd_una(self) -> int:
        """Position in the stream of the first byte still unacknowledged after this ACK; starts at 1."""

    @property
    def snd_nxt(self) -> int:
        """Position of the next byte to send.

        A round trip ends once `snd_una` passes an earlier value of `snd_nxt`.
        """

    @property
    def ece(self) -> bool:
        """Whether the ACK carries an ECN echo."""

    @property
    def in_recovery(self) -> bool:
        """Whether the sender is in loss recovery after this ACK."""

@final
class RateSample:
    """The delivery rate over the time from a segment's transmission to its acknowledgment."""

    @property
    def delivered_bytes(self) -> int:
        """Bytes delivered in the sampled time."""

    @property
    def interval_s(self) -> float:
        """Length of the sampled time: the longer of the times to send the bytes and to acknowledge them."""

    @property
    def rate_bps(self) -> float | None:
        """The delivery rate in bit/s: `delivered_bytes` over `interval_s`; None if the interval is 0."""

    @property
    def prior_delivered_bytes(self) -> int:
        """Total bytes that had been delivered when the segment was sent.

        A congestion control can use this number to count round trips.
        """

    @property
    def min_rtt_s(self) -> float | None:
        """Smallest round-trip time of the last 10 s; None if none was measured."""

    @property
    def app_limited(self) -> bool:
        """Whether the application limited the sender in the sampled time."""

    @property
    def retransmission(self) -> bool:
        """Whether the segment was a retransmission."""

@final
class LossEvent:
    """The reason for a reduction of the window."""

    @property
    def now_s(self) -> float:
        """When the event was detected, in simulated seconds."""

    @property
    def kind(self) -> str:
        """The kind of event: "loss", "ecn" or "timeout"."""

    @property
    def repeated(self) -> bool:
        """Whether the event is a repeated timeout for the same data."""

    @property
    def flight_bytes(self) -> int:
        """Bytes sent and not cumulatively acknowledged (RFC 5681's FlightSize)."""

    @property
    def mss(self) -> int:
        """Payload bytes of a full segment."""

@disjoint_base
class CongestionControl:
    """Base class of congestion controls in Python; the engine makes one object per end of a connection.

    A subclass defines `on_ack` and `on_loss`, and may define the other methods. It must take time only from
    its arguments and random numbers only from `random`, so that a run is reproducible.
    """

    uses_slow_start: bool
    """Class attribute: whether the engine's slow start opens the window up to `ssthresh_bytes`."""

    owns_recovery: bool
    """Class attribute: whether `cwnd_bytes` also applies in recovery.

    If False, the engine sets the window during recovery.
    """

    uses_random: bool
    """Class attribute: whether the congestion control draws random numbers, so that replicates differ."""

    def __new__(cls, *_arguments: object, **_keywords: object) -> Self: ...
    @property
    def cwnd_bytes(self) -> float:
        """The congestion window, in whole bytes; at least one segment. The engine sets it in recovery, after
        timeouts and after idle times, so read it at each call.
        """

    @cwnd_bytes.setter
    def cwnd_bytes(self, value: float) -> None: ...
    @property
    def ssthresh_bytes(self) -> float:
        """The slow-start threshold, infinite at first. When the sender leaves loss recovery, this becomes its
        window. After `on_loss` it equals `cwnd_bytes`, unless `on_loss` sets it.
        """

    @ssthresh_bytes.setter
    def ssthresh_bytes(self, value: float) -> None: ...
    @property
    def pacing_rate_bps(self) -> float | None:
        """The pacing rate in bit/s. If it is None, the study's `pacing` applies."""

    @pacing_rate_bps.setter
    def pacing_rate_bps(self, value: float | None) -> None: ...
    @property
    def timer_s(self) -> float | None:
        """When `on_timer` is called, in simulated seconds and later than now; None for no call. It is None
        again when the call comes.
        """

    @timer_s.setter
    def timer_s(self, value: float | None) -> None: ...
    @property
    def random(self) -> Random:
        """The random number generator of this congestion control.

        It is seeded from the run's seed, the replicate and the flow. The class must set `uses_random = True`.
        """

    def on_start(self, now_s: float, mss: int, /) -> None:
        """Called when the connection is established.

        `cwnd_bytes` is then the configured initial window.
        """

    def on_ack(self, ack: AckReport, /) -> None:
        """Called for each ACK with new information, also during recovery."""

    def on_loss(self, event: LossEvent, /) -> None:
        """Called once per episode of losses or ECN echoes, and by `on_timeout`.

        A subclass reduces `cwnd_bytes` here.
        """

    def on_timeout(self, event: LossEvent, /) -> None:
        """Called when the retransmission timer expires. The default follows RFC 5681, section 3.1: it calls
        `on_loss` unless the timeout is repeated, and then sets `cwnd_bytes` to one segment.
        """

    def on_undo(self, now_s: float, /) -> None:
        """Called when the last reduction proves to be spurious.

        The engine has already raised `cwnd_bytes` to at least its value before the reduction.
        """

    def on_timer(self, now_s: float, /) -> None:
        """Called at `timer_s`, while the connection is open."""

@final
class NativeLaw:
    """A congestion control in Rust, in a library that was built of the engine's sources.

    Raises ValueError if the library cannot be loaded, or was built of other sources or by another compiler.
    """

    def __new__(cls, name: str, library: str | PathLike[str], uses_random: bool, ecn: str) -> NativeLaw: ...
    @property
    def name(self) -> str:
        """The law's name, for errors."""

    @property
    def uses_random(self) -> bool:
        """Whether it draws random numbers, so that replicates differ."""

    @property
    def ecn(self) -> str:
        """The form of ECN that `cc` sets with it; may be empty."""

    @property
    def pending_call(self) -> int | None:
        """The number of the call that has not returned; None if there is none."""

class LawFailed(RuntimeError):  # noqa: N818
    """A run whose congestion control raised an exception. The message names file, line, flow and time."""

class BudgetError(RuntimeError):
    """A run that needed more than its budget. Its records are lost."""

    simulated_ns: int
    """The simulated time that the run reached."""

class RunStopped(Exception):  # noqa: N818
    """A run that was asked to stop. Its records are lost."""

def default_budget() -> tuple[int, int]:
    """The default budget of a run: number of events, and bytes of memory."""

def run(
    scenario_json: str,
    seed: int,
    replicate: int,
    *,
    max_events: int | None = None,
    max_memory_bytes: int | None = None,
    max_seconds: float | None = None,
    stopped: Callable[[float], bool] | None = None,
    laws: Mapping[str, type[CongestionControl] | NativeLaw] | None = None,
) -> Records:
    """Runs one replicate of a scenario. For several, create a `Scenario` once and call its `run`.

    The arguments and errors are those of `Scenario.run`.
    """

@final
class Scenario:
    """A scenario that was parsed and checked.

    If it cannot be run, raises ValueError, which states the place and what would be right.
    """

    def __new__(cls, json: str) -> Scenario: ...
    def run(
        self,
        seed: int,
        replicate: int,
        *,
        max_events: int | None = None,
        max_memory_bytes: int | None = None,
        max_seconds: float | None = None,
        stopped: Callable[[float], bool] | None = None,
        laws: Mapping[str, type[CongestionControl] | NativeLaw] | None = None,
    ) -> Records:
        """Runs one replicate. The run releases the GIL unless a law is a class.

        `max_events` and `max_memory_bytes` (estimated) default to `default_budget()`. `max_seconds` limits
        wall-clock time; by default, there is no limit. `stopped` is called about every 100 ms with the share
        of its duration that the run has simulated. `laws` are the congestion controls of the user's own, by
        the digests by which the scenario names them. On the main thread, Ctrl-C ends the run.

        Raises ValueError if two nodes that exchange traffic are not connected; BudgetError if the run exceeds
        its budget or simulated time does not advance; LawFailed if a congestion control in Python raises an
        exception; RunStopped if `stopped` returns True; RuntimeError, which states the scenario's hash, if an
        invariant of the engine is broken.
        """

    def application(self, traffic: int, segment_bytes: int, seed: int, replicate: int) -> Application:
        """The application of a traffic entry, to be driven from Python.

        It draws the same random numbers as in `run`. `segment_bytes` is the payload of a full segment on the
        network of the driver. Raises ValueError if the entry does not exist.
        """

@final
class Records:
    """The tables of one run, and its totals."""

    @property
    def names(self) -> list[str]:
        """Names of the tables."""

    @property
    def packets(self) -> int:
        """Number of packets that crossed a link, summed over the links.

        The engine's speed is measured in these packets per second.
        """

    @property
    def digest(self) -> str:
        """SHA-256 over all tables, in hexadecimal. Equal records have the same digest on every platform."""

    def without(self, names: Sequence[str]) -> Records:
        """The records with these tables empty ("cwnd", "limits", "states", "timeouts", "delays").

        They are as if the probes that fill these tables had been off. All other tables are unchanged.
        """

    @property
    def summary(self) -> dict[str, int]:
        """Totals by name. `injected` is the sum of `delivered`, `dropped` and `in_flight`."""

    def table(self, name: str) -> Table:
        """A table by its name. Raises KeyError, which lists the tables."""

    def __getitem__(self, name: str, /) -> Table: ...
    def write_trace(self, path: str | PathLike[str], format: str) -> None:
        """Writes a trace of the segments at the observed node.

        `format` is "pcapng" or "ns". Raises ValueError if the run observed no segments, and OSError if the
        file cannot be written.
        """

@final
class Table:
    """A record table. pyarrow, polars, pandas and DuckDB can read it without copying its columns."""

    @property
    def column_names(self) -> list[str]:
        """Names of the columns."""

    def column(self, name: str) -> tuple[str, memoryview, list[str] | None] | None:
        """A column for numpy: the type, the values, and the words if the values are codes.

        A null becomes -1 in whole numbers and codes, and NaN in floats. Returns None for a column of lists,
        and for a column of booleans with nulls.
        """

    def __len__(self) -> int: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Implements the Arrow PyCapsule interface. It ignores the requested schema."""
