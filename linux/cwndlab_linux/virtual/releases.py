"""`cwndlab linux bisect --kernels`: find the two of several kernels between which a quantity moves.

This works without git's history: with releases of Debian's packages, the user's sources, or built kernels.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cwndlab.base.errors import RunError, StudyError

from . import images, recipe, source
from .build import build
from .steps import BuildSteps
from .trials import FirstBad, Trials, keep


@dataclass
class Releases:
    """Kernels in the user's order."""

    names: Sequence[str]
    #: The folder of sources and kernels.
    folder: Path
    jobs: int

    def first_bad(self, trials: Trials) -> FirstBad:
        """The first kernel whose number differs from that of the first one in the list.

        Raises:
            StudyError: there are fewer than two, two have one name, or nothing differs between the ends.
            RunError: one of the ends cannot be built or run.

        """
        names = [self.title(name) for name in self.names]
        if len(names) < 2 or len(set(names)) < len(names):
            raise StudyError(
                f"{', '.join(names)} is nothing to look between",
                key="--kernels",
                right="two different names or more",
            )
        trials.begin(self.names[0], self.names[-1])
        left = list(self.names)
        while len(left) > 2:
            middle = len(left) // 2
            is_bad = trials.is_bad(left[middle])
            if is_bad is None:
                del left[middle]
            else:
                left = left[: middle + 1] if is_bad else left[middle:]
        return trials.compare(left[1], left[0])

    def title(self, name: str) -> str:
        """The last part of a path, or the name."""
        return Path(name).name

    def build(self, name: str) -> images.Image:
        """The built kernel of this name, or one built from the user's source or a release of Debian's."""
        path = Path(name)
        if not path.exists():
            if not source.is_release(name):
                return images.find(name)
            path = self._archive(name)
        home = self.folder / "kernels"
        series = recipe.series_of(source.version_in(path), name)
        image = build(recipe.Recipe(series), path, self.jobs, lambda line: None, home=home)
        shutil.rmtree(images.sources_folder(home), ignore_errors=True)  # the next one has another source
        return keep(image, home)

    def _archive(self, release: str) -> Path:
        """Debian's source archive of a release, downloaded once."""
        kept = self.folder / "sources" / f"linux-{release}.tar.xz"
        if not kept.exists():
            work = kept.parent / "download"
            shutil.rmtree(work, ignore_errors=True)
            work.mkdir(parents=True)
            try:
                found = source.archive_of_release(release, work, BuildSteps(work / "log", lambda line: None))
                shutil.move(found, kept)
            except OSError as error:
                raise RunError(f"{kept}: {error.strerror}") from None
            shutil.rmtree(work)
        return kept
