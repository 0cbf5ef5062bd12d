"""The other end of `processes`: performs the jobs that come on standard input."""

from __future__ import annotations

import os
import pickle
import signal
import sys

from cwndlab.errors import CwndlabError

from .protocol import Outcome, Work


def main() -> None:
    """Until standard input ends. What is printed meanwhile goes to standard error."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent process ends this one
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    paths, work = pickle.load(sys.stdin.buffer)
    sys.path += [path for path in paths if path and path not in sys.path]
    while True:
        try:
            jobs = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        pickle.dump(_perform(jobs, work), replies)
        replies.flush()


def _perform(jobs: list[object], work: Work) -> tuple[list[Outcome], CwndlabError | None]:
    outcomes: list[Outcome] = []
    try:
        outcomes.extend(work.perform(jobs))  # type: ignore[arg-type]
    except CwndlabError as error:
        return outcomes, error
    return outcomes, None


if __name__ == "__main__":
    main()
