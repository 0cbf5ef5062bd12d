"""The result of a fit: parameters with intervals, the study, and the capture compared with replays."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import Field

from cwndlab.base.writing import aligned_lines, save
from cwndlab.study.base import Strict
from cwndlab.study.toml import dumps

from .compared_numbers import DELAYED, VARIATION, ComparedNumbers, is_far
from .fitted_study import DRAWS
from .time_courses import TimeCourse

STUDY, PARAMETERS, PAGE = "study.toml", "parameters.json", "fit.html"


class Parameter(Strict):
    """A fitted parameter."""

    name: str = Field(description="the key of the short form that it sets, or what it is")
    unit: str = Field("", description="of its value")
    value: float | str | None = Field(None, description="the estimate; none if it is not identifiable")
    low: float | None = Field(None, description="lower end of the 95 % interval")
    high: float | None = Field(None, description="upper end")
    hosts: float = Field(
        0.0,
        description="part of the interval, to either side, for hosts' clocks and delays, which replays lack",
    )
    resolution: float | None = Field(
        None, description="what no packet shows may move it by so much besides, to either side"
    )
    resolution_of: str = Field("", description="what that is")
    stated: bool = Field(False, description="given by the user, not estimated")
    not_identifiable: str = Field("", description="why there is no estimate")
    how: str = Field("", description="what of the capture it was read from")

    @property
    def interval(self) -> str:
        """The interval as text, or why there is none."""
        if self.stated:
            return "stated"
        if self.not_identifiable:
            return f"not identifiable: {self.not_identifiable}"
        if self.low is None or self.high is None:
            return "as captured"
        digits = next(k for k in range(5, 18) if k == 17 or f"{self.low:.{k}g}" != f"{self.high:.{k}g}")
        return f"{self.low:.{digits}g} to {self.high:.{digits}g}"

    @property
    def besides(self) -> str:
        """The resolution as text."""
        return "" if self.resolution is None else f"± {self.resolution:.2g}, {self.resolution_of}"

    @property
    def text(self) -> str:
        """The value with its unit, as text."""
        if self.value is None:
            return "–"
        value = self.value if isinstance(self.value, str) else f"{self.value:.5g}"
        return f"{value} {self.unit}".strip()


class Compared(Strict):
    """A number of the capture compared with those of the replays."""

    name: str = Field(description="what it is")
    capture: float = Field(description="in the capture")
    low: float = Field(description="the least of the replays")
    median: float = Field(description="their median")
    high: float = Field(description="the largest")

    @property
    def inside(self) -> bool:
        """Whether the capture lies within the range of the replays."""
        return self.low <= self.capture <= self.high

    @property
    def far(self) -> bool:
        """Whether the capture is farther from the replays' range than chance explains."""
        return is_far(self.name, self.capture, self.low, self.high)


class Fitted(Strict):
    """The findings of a fit."""

    capture: str = Field(description="the file")
    flow: str = Field(description="the ends of the connection")
    seconds: float = Field(description="length of the capture")
    parameters: list[Parameter] = Field(description="of the path and the sender")
    compared: list[Compared] = Field(description="the capture next to replays of the fitted study")
    draws: int = Field(DRAWS, description="replays, and draws of the path")
    notes: list[str] = Field([], description="what the fit assumes")

    @property
    def warnings(self) -> list[str]:
        """Warnings about what the replays do not reproduce; the study then explains the capture in part."""
        found = [number.name for number in self.compared if number.far]
        other = [name for name in found if name in (VARIATION, DELAYED)]
        rest = [name for name in found if name not in other]
        made = [f"the replays do not show the capture's {', '.join(rest)}"] if rest else []
        if other:
            made.append(
                "other traffic is neither like datagrams nor like TCP flows of the study, so do not rely on "
                "what the study says of another congestion control"
            )
        return made

    def table(self) -> str:
        """The parameters as a text table."""
        rows = [(one.name, one.text, one.interval, one.besides) for one in self.parameters]
        return "\n".join(aligned_lines([("parameter", "value", "95 % interval", "besides"), *rows]))

    def comparison(self) -> str:
        """The comparison of the capture with the replays, as a text table."""
        rows = [
            (one.name, f"{one.capture:.4g}", f"{one.median:.4g} ({one.low:.4g} to {one.high:.4g})")
            for one in self.compared
        ]
        return "\n".join(aligned_lines([("", "capture", f"{self.draws} replays"), *rows]))

    def text_of(self, name: str) -> str:
        """A parameter with its unit; "" if there is none of this name."""
        return next((parameter.text for parameter in self.parameters if parameter.name == name), "")

    @property
    def _cross_text(self) -> str:
        """The cross traffic: its rate, or its response, since TCP flows have no rate of their own."""
        if rate := self.text_of("cross traffic"):
            return f"cross traffic {rate}"
        return f"cross traffic {self.text_of('response of cross traffic')}"

    @property
    def finding(self) -> str:
        """The path and its sender, in a sentence."""
        return (
            f"{self.text_of('cc').upper()} over {self.text_of('rate')} with a base round trip of "
            f"{self.text_of('rtt')} and a buffer of {self.text_of('buffer')}; random loss "
            f"{self.text_of('loss')}, {self._cross_text}."
        )


@dataclass(frozen=True)
class CaptureFit:
    """A fit, its study, and the time courses of the capture and the replays."""

    fitted: Fitted
    study: dict[str, Any]
    capture: TimeCourse
    replays: Sequence[TimeCourse]

    def write(self, folder: Path) -> None:
        """Writes study.toml, parameters.json and fit.html."""
        from cwndlab.report.render import page

        from .fit_figures import draw_courses  # figures are slow to import

        drawings = draw_courses(self.capture, self.replays, self.fitted.seconds)
        save(folder / STUDY, dumps(self.study))
        save(folder / PARAMETERS, self.fitted.model_dump_json(indent=1) + "\n")
        save(folder / PAGE, page("fit.html", drawings=drawings, fitted=self.fitted, folder=folder.name))


def compare(capture: ComparedNumbers, replays: Sequence[ComparedNumbers]) -> list[Compared]:
    """The numbers of a capture, each with the replays' range and median."""
    found = []
    for name, value in capture.items():
        others = sorted(other for replay in replays if not math.isnan(other := dict(replay.items())[name]))
        if math.isnan(value) or len(others) < len(replays) / 2:
            continue
        found.append(
            Compared(
                name=name, capture=value, low=others[0], median=others[len(others) // 2], high=others[-1]
            )
        )
    return found
