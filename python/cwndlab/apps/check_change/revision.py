"""The files of an earlier revision of the repository in which a command runs."""

from __future__ import annotations

import io
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from pathlib import Path

from cwndlab.base.errors import StudyError


def _git(*words: str) -> bytes:
    """The output of a git command; StudyError with git's reason if it fails."""
    try:
        done = subprocess.run(["git", *words], capture_output=True, check=True)
    except FileNotFoundError:
        raise StudyError("there is no git here", key="--baseline", right="name a result folder") from None
    except subprocess.CalledProcessError as error:
        reason = error.stderr.decode(errors="replace").strip().splitlines()
        raise StudyError(
            f"it is neither a result folder nor a revision ({reason[-1] if reason else 'git failed'})",
            key="--baseline",
            right="name a folder of `run`, or a revision of the repository that this command runs in",
        ) from None
    return done.stdout


@contextmanager
def in_revision(revision: str) -> Iterator[str]:
    """Runs the `with` block in the current folder as of a git revision; yields the commit's full hash."""
    commit = _git("rev-parse", "--verify", f"{revision}^{{commit}}").decode().strip()
    top, inside = (_git("rev-parse", word).decode().strip() for word in ("--show-toplevel", "--show-prefix"))
    archive = _git("-C", top, "archive", "--format=tar", commit)
    with tempfile.TemporaryDirectory(prefix="cwndlab-") as folder:
        with tarfile.open(fileobj=io.BytesIO(archive)) as files:
            files.extractall(folder, filter="data")
        place = Path(folder, inside)
        if not place.is_dir():
            raise StudyError(f"{revision} has no folder {inside}", key="--baseline")
        with chdir(place):
            yield commit
