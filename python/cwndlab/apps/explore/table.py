"""The scenarios of every setting of a page's controls, as small tables.

A page must not duplicate the compiler, so each value comes from a compiled cell. All combinations of controls
would be millions of cells, but each value depends on a few controls only: a link's rate on one, a queue's
limit in bytes on rate, round-trip time and buffer. Therefore only the combinations of such a set are
compiled, with the other controls at their base. The dependencies are found by comparing compiled settings,
and verified with random ones.
"""

from __future__ import annotations

import itertools
import json
import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

#: A position for each control.
State: TypeAlias = tuple[int, ...]
#: The keys that lead to a value in a scenario.
Place: TypeAlias = tuple[str | int, ...]
#: The values of a scenario by place, each as JSON.
Leaves: TypeAlias = Mapping[Place, str]

#: Marks a value that a scenario lacks.
ABSENT = ""
#: The place of the error message of a setting that does not compile.
PROBLEM: Place = ("!",)
#: Most settings to compile for the tables.
MOST = 1500
#: The number of consecutive random settings that the tables must predict correctly.
SAMPLES = 60


@dataclass(frozen=True)
class SettingTable:
    """The values that depend on a set of controls."""

    controls: tuple[int, ...]
    places: tuple[Place, ...]
    rows: tuple[tuple[str, ...], ...]
    """For each combination of the controls, the last one fastest: the value at each place as JSON."""


class SettingCompiler:
    """Compiles settings of controls, and finds which values depend on which controls.

    Args:
        counts: the number of values of each control.
        base: the setting from which the page starts.
        compile_: returns the scenario of a setting, or an error message.

    """

    def __init__(self, counts: Sequence[int], base: State, compile_: Callable[[State], Any | str]) -> None:
        self.counts = counts
        self.base = base
        self._compile = compile_
        self._compiled: dict[State, str] = {}
        self._base = compile_(base)
        #: For each compiled setting, the values that differ from the base.
        self._leaves: dict[State, Leaves] = {}
        #: Places that are treated as one value, because their inner keys differ between settings.
        self._whole: set[Place] = set()
        self._depends: dict[Place, set[int]] = {}
        self._random = random.Random(0)
        #: Controls that stay at the base because the tables would be too large otherwise.
        self.frozen: set[int] = set()

    def tables(self) -> list[SettingTable]:
        """Tables that determine the scenario of every setting; `frozen` controls are excluded."""
        self._singles()
        for state in self._pairs():
            self._learn(state)
        in_a_row = 0
        while in_a_row < SAMPLES:
            in_a_row = 0 if self._learn(self._random_state()) else in_a_row + 1
        while any([self._learn(state) for controls in self._sets() for state in self._product(controls)]):
            pass
        return [self._table(controls, places) for controls, places in sorted(self._sets().items())]

    def scenario(self, state: State) -> Any | str:
        """The scenario of a setting, or an error message."""
        if state not in self._compiled:
            self._compiled[state] = json.dumps(self._compile(state))
        return json.loads(self._compiled[state])

    # ── values by place ───────────────────────────────────────────────────────────────────────────────────

    def _changed_values(self, state: State) -> Leaves:
        """The values of a setting that differ from the base."""
        if state not in self._leaves:
            scenario = self.scenario(state)
            if isinstance(scenario, str):
                self._leaves[state] = {PROBLEM: json.dumps(scenario)}
                return self._leaves[state]
            found, uneven = _differences(self._base, scenario, self._whole)
            if uneven:
                self._whole |= uneven
                self._leaves.clear()
                self._join()
                found, _ = _differences(self._base, scenario, self._whole)
            self._leaves[state] = found
        return self._leaves[state]

    def _value(self, state: State, place: Place) -> str | None:
        """The value at a place, or `ABSENT`; None if the setting has no scenario."""
        other = self._changed_values(state)
        if PROBLEM in other and place != PROBLEM:
            return None
        return other[place] if place in other else _json_at(self._base, place)

    # ── what depends on what ──────────────────────────────────────────────────────────────────────────────

    def _setting_at(self, state: State, controls: set[int] | frozenset[int]) -> State:
        """The setting with all other controls at their base."""
        return tuple(
            value if control in controls else self.base[control] for control, value in enumerate(state)
        )

    def _reset(self, state: State, control: int) -> State:
        return (*state[:control], self.base[control], *state[control + 1 :])

    def _singles(self) -> None:
        for control, count in enumerate(self.counts):
            for value in range(count):
                self._learn((*self.base[:control], value, *self.base[control + 1 :]))

    def _pairs(self) -> list[State]:
        """For each pair of controls, two random settings that change both."""
        found = []
        for one, other in itertools.combinations(range(len(self.counts)), 2):
            found += [self._setting_at(self._random_state(), {one, other}) for _ in range(2)]
        return found

    def _random_state(self) -> State:
        return tuple(self._random.randrange(count) for count in self.counts)

    def _thaw(self, state: State) -> State:
        return self._setting_at(state, set(range(len(state))) - self.frozen) if self.frozen else state

    def _learn(self, state: State) -> bool:
        """Compares a compiled setting with the tables' prediction; returns whether a dependency was added."""
        learnt = False
        while True:
            state = self._thaw(state)
            known = len(self._whole)
            other = self._changed_values(state)
            places = dict.fromkeys([PROBLEM] if PROBLEM in other else [PROBLEM, *other, *self._depends])
            wrong = [p for p in places if self._expected(state, p) != self._value(state, p)]
            if len(self._whole) > known:
                continue  # the set of places changed
            if not wrong:
                return learnt
            learnt = True
            for place in wrong:
                self._blame(state, place)
            self._check_size()

    def _expected(self, state: State, place: Place) -> str | None:
        return self._value(self._setting_at(state, self._depends.get(place, set())), place)

    def _blame(self, state: State, place: Place) -> None:
        """Adds the controls on which a mispredicted value depends."""
        known = self._depends.setdefault(place, set())
        moved = {c for c, value in enumerate(state) if value != self.base[c]} - known
        right = self._value(state, place)
        found = {c for c in moved if self._value(self._reset(state, c), place) != right}
        known.update(found or moved)

    def _join(self) -> None:
        """Merges the dependencies of places that became part of one value."""
        for place in [p for p in self._depends if any(p[: len(w)] == w and p != w for w in self._whole)]:
            above = min((w for w in self._whole if place[: len(w)] == w), key=len)
            self._depends.setdefault(above, set()).update(self._depends.pop(place))

    def _sets(self) -> dict[tuple[int, ...], list[Place]]:
        found: dict[tuple[int, ...], list[Place]] = {}
        for place, controls in self._depends.items():
            if controls:
                found.setdefault(tuple(sorted(controls)), []).append(place)
        return found

    def _check_size(self) -> None:
        """Freezes the last control of the largest table until the tables have at most `MOST` settings."""
        while True:
            sets = self._sets()
            sizes = {controls: math.prod(self.counts[c] for c in controls) for controls in sets}
            if sum(sizes.values()) <= MOST:
                return
            largest = max(sizes.items(), key=lambda item: item[1])[0]
            control = max(largest)
            self.frozen.add(control)
            for controls in self._depends.values():
                controls.discard(control)

    def _product(self, controls: tuple[int, ...]) -> list[State]:
        """Every combination of some controls, the last one fastest, with the others at their base."""
        found = []
        for values in itertools.product(*(range(self.counts[c]) for c in controls)):
            chosen = dict(zip(controls, values, strict=True))
            found.append(tuple(chosen.get(c, value) for c, value in enumerate(self.base)))
        return found

    def _table(self, controls: tuple[int, ...], places: list[Place]) -> SettingTable:
        ordered = sorted(places, key=str)
        rows = []
        for state in self._product(controls):
            rows.append(tuple(self._value(state, place) or ABSENT for place in ordered))
        return SettingTable(controls, tuple(ordered), tuple(rows))


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), sort_keys=True)


def _json_at(scenario: Any, place: Place) -> str:
    """The value at a place as JSON, or `ABSENT`."""
    for key in place:
        inside = (
            key in scenario if isinstance(scenario, dict) else isinstance(key, int) and key < len(scenario)
        )
        if not inside:
            return ABSENT
        scenario = scenario[key]
    return _json(scenario)


def _differences(
    base: Any, other: Any, whole: set[Place], at: Place = ()
) -> tuple[dict[Place, str], set[Place]]:
    """The values that differ from the base as JSON, and the places whose keys differ between the two."""
    if base == other and type(base) is type(other):
        return {}, set()
    keys: Sequence[str | int]
    if at in whole or not (base and other):
        keys = []
    elif isinstance(base, dict) and isinstance(other, dict):
        keys = [*base, *(key for key in other if key not in base)]
    elif isinstance(base, list) and isinstance(other, list) and len(base) == len(other):
        keys = range(len(base))
    else:
        keys = []
    if not keys:
        compound = isinstance(base, dict | list) or isinstance(other, dict | list)
        return {at: _json(other)}, {at} - whole if compound else set()
    found: dict[Place, str] = {}
    uneven: set[Place] = set()
    for key in keys:
        inner = (*at, key)
        if isinstance(base, dict) and (key not in base or key not in other):
            value = base.get(key, other.get(key))
            found[inner] = _json(other[key]) if key in other else ABSENT
            uneven |= {inner} - whole if isinstance(value, dict | list) else set()
        else:
            more, rough = _differences(base[key], other[key], whole, inner)
            found |= more
            uneven |= rough
    return found, uneven
