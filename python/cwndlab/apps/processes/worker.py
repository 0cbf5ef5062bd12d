"""The worker process of `processes`: performs jobs from standard input, with the user's code."""

from __future__ import annotations

import os
import pickle
import signal
import sys
import threading
import time

from cwndlab.base import watch
from cwndlab.base.errors import CwndlabError
from cwndlab.base.usercode import describe_error, error_place
from cwndlab.runs.executors.protocol import Job, Outcome, Stopped, Work

#: Memory for the user's code, in addition to the budget of a run.
SPARE_BYTES = 512 << 20
#: The exit code of a process that has reported why it ends.
REPORTED = 3


def main() -> None:
    """Performs jobs until standard input ends. Output of the user's code goes to standard error.

    A reply is a pair: outcomes of jobs, and an error that ends the run or None. Before a reply, the completed
    share of the current run may be sent several times. A process that must end sends the reason instead.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent process ends this one
    requests, replies = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)  # the user's code must not read the requests

    replying = threading.Lock()  # the thread that watches the user's code may end this process at any time

    def reply(content: object) -> None:
        try:
            with replying:
                pickle.dump(content, replies)
                replies.flush()
        except BrokenPipeError:  # the parent process has ended
            os._exit(1)

    def end(reason: str) -> None:
        reply(reason)
        os._exit(REPORTED)

    def stopped(share: float) -> bool:
        reply(share)
        return False

    watch.end_process = end
    threading.Thread(target=_end_with_parent, args=(os.getppid(),), daemon=True).start()
    sys.addaudithook(_no_fork)
    paths, work = pickle.load(requests)
    sys.path += [path for path in paths if path and path not in sys.path]
    _limit_memory(work)
    while True:
        try:
            jobs = pickle.load(requests)
        except EOFError:
            return
        try:
            done = _perform(jobs, work, stopped)
        except (KeyboardInterrupt, SystemExit, GeneratorExit) as error:  # raised by the user's code
            end(error_place(error) + describe_error(error))
        reply(done)


def _perform(jobs: list[Job], work: Work, stopped: Stopped) -> tuple[list[Outcome], CwndlabError | None]:
    outcomes: list[Outcome] = []
    try:
        outcomes.extend(work.perform(jobs, stopped))
    except CwndlabError as error:
        return outcomes, error
    return outcomes, None


def _end_with_parent(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)


def _no_fork(event: str, _: tuple[object, ...]) -> None:
    """Rejects forks: a copy of this process would send its own replies."""
    if event in ("os.fork", "os.forkpty"):
        raise RuntimeError("a law or a metric must not fork")


def _limit_memory(work: Work) -> None:
    """Limits memory so that the user's code fails with MemoryError before the machine runs out of memory."""
    if sys.platform != "linux":
        return
    import resource

    bound = work.memory_bytes + SPARE_BYTES
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    if hard == resource.RLIM_INFINITY or bound < hard:
        resource.setrlimit(resource.RLIMIT_DATA, (bound, hard))


if __name__ == "__main__":
    main()
