"""Runs of a scenario on a kernel, and in the simulator with the same starts, clock and random numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from cwndlab import _core
from cwndlab.base.arrow_tables import decode_tables, read_table
from cwndlab.base.errors import RunError
from cwndlab.runs.executors.protocol import Job, Outcome
from cwndlab.runs.work import MeasuredRuns
from cwndlab.study.toml import dumps
from cwndlab_linux.real_kernel import Kernel
from cwndlab_linux.stack import Opener, Segments, Stack
from cwndlab_linux.stack_file import load

from .packets_at_server import PacketComparison, ServerPacket, compare, packets_of
from .random_scenario import RECEIVE_BYTES, SLACK_NS, STACK, Alignment

#: Linux starts jiffies five minutes before they wrap (include/linux/jiffies.h, INITIAL_JIFFIES).
UPTIME_AT_ZERO_NS = -300 * 10**9
#: Period of the coarsest timer wheel level that timers of a run reach (kernel/time/timer.c).
WHEEL_NS = (1 << 18) * 10**6
#: Number of names to try for a connection. Names select BBR's random phase, one of seven at each start of
#: cycling, with often two starts per run: 64 names miss a quarter of the 49 pairs, 256 one in two hundred.
DRAWS = 256
#: The end that opens connections, as in the simulator, even if the client sends.
OPENER: Opener = "client"


@dataclass(frozen=True)
class KernelRun:
    """The packets of a kernel's run at the server."""

    packets: tuple[ServerPacket, ...]
    #: The time of each transfer's SYN, in the order of the traffic.
    starts_ns: tuple[int, ...]
    #: The guest's monotonic clock at time 0 of the run.
    zero_ns: int

    @property
    def tick_phase_ns(self) -> int:
        """How far the clock that counts ticks is ahead of the run's clock."""
        return (self.zero_ns + UPTIME_AT_ZERO_NS) % WHEEL_NS


class Case(Protocol):
    """A scenario that both sides can run."""

    @property
    def seed(self) -> int:
        """The seed of all random numbers."""

    @property
    def laws(self) -> Sequence[str]:
        """The congestion control of each traffic entry."""

    def compile(self, alignment: Alignment | None = None) -> str:
        """The scenario as JSON for the engine; an `alignment` to a kernel's run is for the simulator."""


def stack_of(
    *, simple_receiver: bool = False, trains: bool = False, more: Mapping[str, str] | None = None
) -> Stack:
    """The kernel's configuration, with additional sysctls of a scenario."""
    stack = load(STACK)
    sysctls = {**stack.sysctls, **_sysctls(simple_receiver=simple_receiver), **(more or {})}
    name = f"{STACK}, as differ sets it"
    return replace(stack, name=name, sysctls=sysctls, segments=choose_segments(trains=trains), opener=OPENER)


def stack_text(*, simple_receiver: bool, trains: bool) -> str:
    """The kernel's configuration as a file for ``--stack``."""
    return dumps(
        {
            "based_on": STACK,
            "segments": choose_segments(trains=trains),
            "opener": OPENER,
            "sysctls": _sysctls(simple_receiver=simple_receiver),
        }
    )


def choose_segments(*, trains: bool) -> Segments:
    """Whether a host passes trains or single segments to its device."""
    return "trains" if trains else "single"


def _sysctls(*, simple_receiver: bool) -> dict[str, str]:
    rmem = {"tcp_rmem": f"4096 {RECEIVE_BYTES} {RECEIVE_BYTES}"} if simple_receiver else {}
    return {"tcp_comp_sack_slack_ns": str(SLACK_NS), **rmem}


def on_kernel(
    kernel: Kernel, scenarios: Mapping[str, Case], deliver: Callable[[str, KernelRun | str], None]
) -> None:
    """Runs scenarios by name, several at a time; a failed run is delivered as the reason."""
    jobs = (Job(name, name, one.compile(), one.seed, 0, keep_records=True) for name, one in scenarios.items())

    def done(outcome: Outcome) -> None:
        name = outcome.job.key
        if outcome.error is not None or outcome.records is None:
            deliver(name, outcome.error or "no records")
            return
        tables = decode_tables(outcome.records, name)
        rows = tables["connections"].to_pylist()
        # Only the first connection of each traffic entry is aligned.
        started = {row["traffic"]: row["start_ns"] for row in reversed(rows)}
        transfers = range(len(scenarios[name].laws))
        if len(started) < len(transfers):
            deliver(name, "a transfer did not open its connection")
            return
        packets = packets_of(tables["segments"], tables["connections"])
        starts = tuple(started[k] for k in transfers)
        deliver(name, KernelRun(packets, starts, kernel.stamps[name]["clock_zero_ns"]))

    kernel.execute(jobs, MeasuredRuns(()), done)


def one_on_kernel(kernel: Kernel, scenario: Case) -> KernelRun:
    """The run of one scenario; RunError if it failed."""
    found: list[KernelRun | str] = []
    on_kernel(kernel, {"run": scenario}, lambda _, run: found.append(run))
    (run,) = found
    if isinstance(run, str):
        raise RunError(f"{scenario}: {run}")
    return run


def against_simulator(scenario: Case, theirs: KernelRun) -> tuple[PacketComparison, Alignment]:
    """The comparison of the simulator with a kernel's run, after aligning starts and clock.

    BBR must draw the same random phases on both sides: the simulator varies the names of transfers, which
    select their random numbers, until both sides agree longest. Losses and queues have separate random
    numbers.
    """
    draws = [0] * len(scenario.laws)

    def ours() -> tuple[PacketComparison, Alignment]:
        alignment = Alignment(theirs.starts_ns, theirs.tick_phase_ns, tuple(draws))
        text = scenario.compile(alignment)
        return compare(simulate(text, scenario.seed), theirs.packets), alignment

    def agrees_longer(best: PacketComparison) -> tuple[PacketComparison, Alignment] | None:
        """The first run that agrees longer after one transfer, preferably the differing one, is renamed."""
        first = min((packet for packet in (best.ours, best.theirs) if packet), key=lambda one: one.time_ns)
        random = [k for k, law in enumerate(scenario.laws) if law == "bbr1"]
        for k in sorted(random, key=lambda k: (k != first.transfer, k)):
            kept = draws[k]
            for draws[k] in range(DRAWS):
                if (found := ours())[0].agree > best.agree:
                    return found
            draws[k] = kept
        return None

    best = ours()
    while not best[0].is_same and (better := agrees_longer(best[0])):
        best = better
    return best


def simulate(text: str, seed: int) -> tuple[ServerPacket, ...]:
    """The packets that the simulator's server sends and receives."""
    records = _core.run(text, seed, 0)
    return packets_of(*(read_table(records.table(name)) for name in ("segments", "connections")))
