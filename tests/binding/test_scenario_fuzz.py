"""Whatever the scenario says, the core answers with records or with ValueError: no panic, no lost packet."""

import copy
import json
from collections.abc import Callable, Iterator
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from cwndlab import _core
from fuzzing import Answers, tries

Make = Callable[..., dict[str, Any]]
Path = tuple[str | int, ...]

INTEGERS = [0, 1, 2, 3, 20, 41, 1000, 65_535, 65_536, 10**6, 2**30, 2**31, 2**32 - 1, 10**9, 2**63, 2**64 - 1]
WORDS = ["", "reno", "tahoe", "sack", "fack", "prr", "cubic", "every", "bulk", "server", "rfc3390", "codel"]
ANYTHING = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from([-1, 2**64, *INTEGERS]),
    st.floats(allow_nan=False),
    st.sampled_from(WORDS),
    st.just([]),
    st.just({}),
)


def likely(value: Any) -> st.SearchStrategy[Any]:
    """Mostly another value of the same type, which gets past the reader and into the engine."""
    match value:
        case bool():
            return st.booleans() | st.booleans() | ANYTHING
        case int() if value >= 0:
            near = st.integers(value // 2, 2 * value + 1)
            return near | near | near | st.sampled_from(INTEGERS) | ANYTHING
        case str():
            return st.sampled_from(WORDS) | ANYTHING
        case _:
            return ANYTHING


def paths(value: Any, here: Path = ()) -> Iterator[Path]:
    """Every place in the scenario."""
    yield here
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from paths(inner, (*here, key))


def at(value: Any, path: Path) -> Any:
    """The value at that place."""
    for key in path:
        value = value[key]
    return value


def put(value: Any, path: Path, leaf: Any) -> Any:
    """The scenario with another value at that place."""
    if not path:
        return leaf
    value[path[0]] = put(value[path[0]], path[1:], leaf)
    return value


def test_a_scenario_with_anything_anywhere_runs_or_is_refused(scenario: Make) -> None:
    answers = Answers()

    @tries(400)
    @given(data=st.data(), profile=st.sampled_from(["ns2-1998", "rfc5681", "linux-6"]))
    def run(data: st.DataObject, profile: str) -> None:
        sound = scenario(profile)
        sound["duration_ns"] = 2_000_000_000
        broken = copy.deepcopy(sound)
        for _ in range(data.draw(st.sampled_from([1, 1, 2, 4]))):
            every = [path for path in paths(broken) if path]
            numbers = [path for path in every if isinstance(at(broken, path), int)]
            # Another number is what the engine is most likely to accept.
            place = data.draw(st.sampled_from(numbers or every) | st.sampled_from(every))
            broken = put(broken, place, data.draw(likely(at(broken, place))))
        try:
            with answers.counted(ValueError):
                records = _core.run(json.dumps(broken), 1, 0, max_events=200_000, max_memory_bytes=50_000_000)
                total = records.summary
                assert total["injected"] == total["delivered"] + total["dropped"] + total["in_flight"]
        except _core.BudgetError as refused:
            assert len(str(refused)) > 10

    run()
    answers.check(accepted=0.03, rejected=0.2)


@given(st.text())
def test_a_text_that_is_not_json_is_refused(text: str) -> None:
    try:
        _core.check_scenario(text)
    except ValueError as refused:
        assert str(refused).startswith("scenario: ")
    else:
        raise AssertionError("accepted")
