"""One run on the kernel, as a process: `python -m cwndlab_linux.testbed` reads a job as JSON.

Each run has its own process, because a thread that has entered a namespace cannot safely return to the
host's. The process creates the namespaces, starts the router and the applications, and writes `result.json`
and the router's trace to the job's folder. It imports little, because many of them run in parallel.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from cwndlab._core import Scenario
from cwndlab.base.engine_kinds import is_program, is_unresponsive
from cwndlab.plan.scenario import kernel_snapshot_times

from .applications import Bed, Driver
from .guest_shell import Shell
from .hosts import DEVICE, Hosts
from .netns import SetupError, become_root_of_own, end_with_parent
from .precise_selector import PreciseSelector
from .programs import Programs
from .router_queues import QueueError

#: Interval, in seconds, of the samples of TCP_INFO and of the application's lateness.
SAMPLE_S = 0.005
#: The applications start this much later than the router, which leaves time to create them.
LEAD_NS = 300_000_000
#: The router has priority, so that packets in transit precede new ones.
ROUTER_PRIORITY, PRIORITY = 20, 10


class Router:
    """The router process."""

    def __init__(self, job: Mapping[str, Any], hosts: Hosts) -> None:
        config = {
            "scenario": job["scenario"],
            "seed": job["seed"],
            "replicate": job["replicate"],
            "ports": hosts.ports(),
            "datagrams": hosts.datagrams(),
            "lead_ns": LEAD_NS,
            "trace": "trace.csv",
            "real_time_priority": ROUTER_PRIORITY if job.get("real_time", True) else 0,
            "limits": job.get("limits", {}),
        }
        times = [*kernel_snapshot_times(job["scenario"]), int(job["scenario"]["duration_ns"])]
        config["snapshots_ns"] = times
        observed = observed_port(job["scenario"], list(hosts.of_node))
        if job.get("capture") and observed is not None:
            config["capture"] = {"path": "capture.pcapng", "port": observed}
        self.process = subprocess.Popen(
            [job["router"], "-"],
            cwd=job["folder"],  # a router inside the kernel has another path to it
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(config))
        self.process.stdin.close()
        self.start_ns = int(self._line()["start_monotonic_ns"])

    def _line(self) -> dict[str, Any]:
        assert self.process.stdout is not None and self.process.stderr is not None
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(self.process.stderr.read().strip() or "the router ended without a word")
        content: dict[str, Any] = json.loads(line)
        return content

    def stop(self) -> dict[str, Any]:
        """Ends the router; returns its summary."""
        self.process.send_signal(signal.SIGTERM)
        summary = self._line()
        self.process.wait(10)
        return summary


class Samplers:
    """Samples TCP_INFO of open sockets when it changes, and how late this process gets the CPU."""

    #: Offsets in tcp_info (<linux/tcp.h>) of snd_mss, unacked, sacked, lost, retrans, rtt (µs), ssthresh,
    #: cwnd.
    _AT = (16, 24, 28, 32, 36, 68, 76, 80)

    def __init__(self, bed: Bed, *, windows: bool) -> None:
        self.bed, self.windows = bed, windows
        self.rows: list[tuple[Any, ...]] = []
        self.last: dict[Any, Any] = {}
        #: The addresses of both ends of each open connection.
        self.ends: dict[socket.socket, tuple[Any, ...]] = {}
        self.late: list[float] = []

    async def run(self) -> None:
        """Takes samples until cancelled."""
        step = SAMPLE_S if self.windows else 4 * SAMPLE_S
        now = self.bed.loop.time()
        while True:
            before = now
            await asyncio.sleep(step)
            now = self.bed.loop.time()
            # asyncio rounds its timeouts up to a millisecond
            self.late.append(max(0.0, now - before - step - 0.001))
            if self.windows:
                self.take(now)

    def take(self, now: float) -> None:
        """Samples every connection. Addresses are cached, since a kernel call takes 16 µs in a guest."""
        ends, self.ends = self.ends, {}
        for sock in list(self.bed.sockets.values()):
            try:
                info = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104)
                key = ends.get(sock) or (*sock.getsockname()[:2], *sock.getpeername()[:2])
            except OSError:
                continue
            self.ends[sock] = key
            mss, unacked, sacked, lost, again, rtt, ssthresh, cwnd = (
                struct.unpack_from("=I", info, at)[0] for at in self._AT
            )
            flight = max(0, unacked - sacked - lost + again)
            window = (cwnd * mss, None if ssthresh >= 0x7FFF_FFFF else ssthresh * mss)
            state = info[1]  # tcpi_ca_state
            if self.last.get(key) != (*window, state):
                self.last[key] = (*window, state)
                self.rows.append((round(now * 1e9), *key, *window, rtt * 1000, flight * mss, state))


def cpu_times() -> list[int]:
    """The first line of /proc/stat: user, nice, system, idle, iowait, irq, softirq, steal."""
    return [int(word) for word in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]


def perform(job: Mapping[str, Any], prepared: Callable[[], None]) -> dict[str, Any]:
    """Runs the job, calling `prepared` before starting the router; returns its data except for the trace."""
    scenario = job["scenario"]
    own_user_namespace = become_root_of_own()
    hosts = Hosts(job)
    hosts.make()
    prepared()
    router = Router(job, hosts)
    real_time = job.get("real_time", True) and _become_real_time()
    before = cpu_times()
    loop = asyncio.SelectorEventLoop(PreciseSelector())
    bed = Bed(loop, counts=bool(scenario.get("probes", {}).get("limits")))
    samples = Samplers(bed, windows=bool(scenario.get("probes", {}).get("cwnd")))
    core = Scenario(json.dumps(scenario))
    drivers = {
        index: hosts.driver(
            index, bed, core.application(index, hosts.segment_bytes(index), job["seed"], job["replicate"])
        )
        for index, entry in enumerate(scenario["traffic"])
        if not is_unresponsive(entry["app"]) and not is_program(entry["app"])
    }
    programs = Programs(job, hosts, loop)
    shell = Shell(job, hosts, loop) if "shell" in job else None
    charge = charge_from(router.process.pid + 1) if programs.all or shell else None
    programs.start_servers(router.start_ns / 1e9)
    wait = router.start_ns / 1e9 - loop.time()
    if wait > 0:
        time.sleep(wait)
    zero_ns = loop.run_until_complete(_run(bed, drivers, samples, scenario, programs, shell))
    summary = router.stop()
    machine = _machine_load(before, cpu_times())
    return {
        "summary": summary,
        "router_start_ns": router.start_ns,
        "zero_ns": zero_ns,
        "windows": samples.rows,
        "addresses": [[*key, value] for key, value in hosts.addresses.items()],
        "ports": [[node, mine] for node, mine in hosts.of_node.items()],
        "programs": [[at, index] for (index, _), at in hosts.program_addresses.items()],
        "processes": list(programs.rows(zero_ns / 1e9)),
        "processes_failed": programs.failures,
        "charge": charge and _charged(charge),
        "objects": [row for index, driver in drivers.items() for row in _object_rows(index, driver)],
        "writes": [[index, *row] for index, driver in drivers.items() for row in driver.writes],
        "tcp_info": [[index, *row] for index, driver in drivers.items() for row in driver.counted],
        "failures": bed.failures,
        "failed_connections": [row for driver in drivers.values() for row in driver.failed],
        "application": {"real_time": real_time, **_lateness(samples)},
        "machine": machine,
        "version": Path("/proc/version").read_text().strip(),
        "offloads": {str(node): space.offloads(DEVICE) for node, space in hosts.namespaces.items()},
        "sysctls": {str(node): space.sysctls() for node, space in hosts.namespaces.items()},
        "sysctls_missing": hosts.missing,
        "queues": hosts.queues.statistics(),
        "virtual": "virtual" in job,
        "device": "packet" if hosts.packet else "tun",
        "user_namespace": own_user_namespace,
    }


def charge_from(number: int) -> Path | None:
    """Charges virtual time for non-waiting calls from a pid on; returns the folder of counters, or None."""
    folder = Path("/sys/module/time_travel/parameters")
    if not folder.is_dir():
        return None
    (folder / "charge_from").write_text(str(number))
    return folder


def _charged(folder: Path) -> dict[str, Any]:
    """The number of charged calls, their total time, and the process that made the first."""
    calls, ns, first = ((folder / f"charged_{name}").read_text().strip() for name in ("calls", "ns", "first"))
    return {"calls": int(calls), "ns": int(ns), "first": first}


def _become_real_time() -> bool:
    """Gives this process a real-time priority; returns whether that succeeded."""
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(PRIORITY))
    except OSError:
        return False
    return True


def _object_rows(index: int, driver: Driver) -> Iterator[dict[str, Any]]:
    """The finished objects of a traffic entry."""
    for record, client_ends in driver.records:
        yield {
            "traffic": index,
            "kind": record.kind,
            "index": record.index,
            "start_ns": record.start_ns,
            "end_ns": record.end_ns,
            "bytes": record.bytes,
            "connections": record.connections,
            "client_ends": client_ends,
        }


def _lateness(samples: Samplers) -> dict[str, float]:
    """Percentiles of the samples' lateness in seconds."""
    late = sorted(samples.late) or [0.0]
    return {
        "lateness_p50_s": late[len(late) // 2],
        "lateness_p99_s": late[int(0.99 * (len(late) - 1))],
        "lateness_max_s": late[-1],
    }


def _machine_load(before: Sequence[int], after: Sequence[int]) -> dict[str, Any]:
    """The load of the machine between two readings of its CPU times."""
    used = [b - a for a, b in zip(before, after, strict=True)]
    total = max(sum(used), 1)
    return {
        "processors": os.cpu_count(),
        "busy": 1 - (used[3] + used[4]) / total,
        "steal": used[7] / total,
        "load": os.getloadavg()[0],
    }


async def _run(
    bed: Bed,
    drivers: Mapping[int, Driver],
    samples: Samplers,
    scenario: Mapping[str, Any],
    programs: Programs,
    shell: Shell | None,
) -> int:
    """Runs the applications for the scenario's duration; returns the run's monotonic start time (ns)."""
    duration = scenario["duration_ns"] / 1e9
    zero = bed.loop.time()
    bed.start(samples.run())
    for index, driver in drivers.items():
        bed.loop.call_at(zero + scenario["traffic"][index]["start_ns"] / 1e9, driver.start)
    programs.schedule(zero)
    if shell is not None:
        shell.schedule(zero)
    deadline = zero + duration
    while True:
        await asyncio.sleep(max(0.001, min(deadline - bed.loop.time(), 0.25)))
        if starts_with_data(scenario) and bed.first_ready is not None:
            # the clock starts after the handshake, which the study's TCP does not have
            deadline = bed.first_ready + duration + 0.05
        if programs.all:
            programs.beat()
        if bed.loop.time() >= deadline or bed.failures or programs.failures:
            break
        if shell is not None and shell.is_over:
            break
    for driver in drivers.values():
        driver.end()
    for task in list(bed.tasks):
        task.cancel()
    await asyncio.sleep(0)
    programs.end()
    return round(zero * 1e9)


def starts_with_data(scenario: Mapping[str, Any]) -> bool:
    """Whether the clock starts with the first data packet: one bulk transfer of a TCP without handshake."""
    traffic = scenario["traffic"]
    return (
        len(traffic) == 1
        and traffic[0]["app"]["kind"] == "bulk"
        and not scenario["tcp"][traffic[0]["tcp_client"]]["handshake"]
    )


def observed_port(scenario: Mapping[str, Any], nodes: list[int]) -> int | None:
    """The index in `nodes` of the observation point or the host nearest to it; None if nothing is observed.

    A kernel's packets can only be observed at hosts.
    """
    node = scenario.get("probes", {}).get("segments_at")
    if node is None:
        return None
    seen, rank = {node}, [node]
    while rank:
        for found in rank:
            if found in nodes:
                return nodes.index(found)
        rank = [link["to"] for link in scenario["links"] if link["from"] in rank and link["to"] not in seen]
        seen.update(rank)
    raise ValueError("no end host can be reached from the observation point")


def write_result(job: Mapping[str, Any], prepared: Callable[[], None] = lambda: None) -> None:
    """Runs the job and writes its result, or the error, to the job's folder."""
    try:
        result = perform(job, prepared)
    except QueueError as error:
        result = {"error": [str(error), error.right], "link": error.link}
    except SetupError as error:
        result = {"error": str(error), "of_all": True}
    except (OSError, RuntimeError, ValueError) as error:
        result = {"error": f"{type(error).__name__}: {error}"}
    except Exception as error:  # pyroute2's exceptions have no common base
        result = {"error": f"{type(error).__module__}.{type(error).__name__}: {error}"}
    Path(job["folder"], "result.json").write_text(json.dumps(result))


def main() -> int:
    """Runs the job from standard input."""
    job = json.load(sys.stdin)
    end_with_parent(job["parent"])
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C
    write_result(job)
    return 0


if __name__ == "__main__":
    sys.exit(main())
