"""What is shown while a study runs on the simulator."""

from __future__ import annotations

from pathlib import Path

import pytest

from cwndlab.backends.protocol import Progress
from cwndlab.laws import given
from cwndlab.runs import progress
from cwndlab.runs.execution import run_study
from cwndlab.study import Study
from small_study import edited

LAW = """\
from cwndlab import AckReport, CongestionControl, LossEvent


class Mine(CongestionControl):
    def on_ack(self, ack: AckReport) -> None:
        pass

    def on_loss(self, event: LossEvent) -> None:
        pass
"""


class Impatient(Progress):
    """Notes what is done of the runs under way, and interrupts them once it has grown."""

    def __init__(self) -> None:
        self.parts: list[float] = []
        self.asked = False

    def under_way(self, replicates: float) -> None:
        if replicates > 0:
            self.parts.append(replicates)
        if len(set(self.parts)) == 2 and not self.asked:
            self.asked = True
            raise KeyboardInterrupt


@pytest.mark.parametrize("place", ["engine", "processes"])
def test_the_progress_of_one_long_run_is_reported_while_it_is_under_way(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Laws in Python run in processes of their own."""
    monkeypatch.setattr("cwndlab.backends.threads.REPORT_S", 0.2)
    law = "reno" if place == "engine" else "mine"
    study = Study.from_toml(
        edited(
            ('sets = "tcp.initial_window"', 'sets = "tcp.window_law"'),
            ("values = [1, 4]", f'values = ["{law}"]'),
            ('duration = "50ms"', 'duration = "500h"'),
        )
    )
    if law == "mine":
        (tmp_path / "mine.py").write_text(LAW)
        study = study.with_laws(given({"mine": str(tmp_path / "mine.py")}))
    heard = Impatient()
    with pytest.raises(KeyboardInterrupt):
        run_study(study, max_events=10**12, threads=1, progress=heard)
    assert heard.parts == sorted(heard.parts) and heard.parts[-1] < 1


def test_the_time_left_follows_from_what_is_done_of_runs_under_way(monkeypatch: pytest.MonkeyPatch) -> None:
    lines: list[str] = []
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    shown = progress.Lines(lines.append)
    shown.start(1, 4, 2)  # two were kept from before
    now[0] = 130.0
    shown.under_way(0.5)
    assert lines == ["62 %: 2 of 4 replicates, 0 of 1 cells finished, about 2 min left"]
