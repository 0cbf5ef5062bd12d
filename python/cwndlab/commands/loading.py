"""The study that a command line names, with its options `--set`, `--cc` and `--metric`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from cwndlab.errors import StudyError

if TYPE_CHECKING:
    from cwndlab.study import Study


def changes_of(given: Iterable[str]) -> dict[str, str]:
    """Keys and their values of options as "iw=4"; StudyError for one that sets nothing."""
    wanted: dict[str, str] = {}
    for change in given:
        # "variant=sack,iw=1,4" is two changes: a comma before a key begins the next
        for piece in re.split(r",(?=[A-Za-z_][\w.+-]*=)", change):
            key, equals, value = piece.partition("=")
            if not equals or not key.strip():
                raise StudyError(
                    f"{piece!r} sets nothing", key="--set", right="write --set iw=4 or --set run.duration=10s"
                )
            wanted[key.strip()] = value.strip()
    return wanted


def load(
    study: str,
    changes: list[str] | None,
    more: list[str] | None = None,
    limits: Sequence[str] = (),
    cc: Sequence[str] | None = None,
    metrics: Sequence[str] | None = None,
) -> Study:
    """The study by its name or file, changed, with your own congestion controls and metrics."""
    from cwndlab.study import Study

    if metrics:
        from cwndlab.metrics import _own

        for file in metrics:
            _own.from_file(file)
    loaded = Study.load(study)
    laws = {}
    if cc:
        from cwndlab.spec.congestion import congestion_control

        laws = dict(congestion_control(given) for given in cc)
    return loaded.configured(changes_of([*(changes or []), *(more or []), *limits]), laws)
