"""Whatever the scenario says, the core answers with records or with ValueError: no panic, no lost packet."""

import copy
import json
from collections.abc import Callable, Iterator
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cwndlab import _core

Make = Callable[..., dict[str, Any]]
Path = tuple[str | int, ...]

LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(min_value=-1, max_value=2),
    st.sampled_from([20, 1000, 65_535, 2**16, 2**31, 2**32 - 1, 2**32, 10**9, 2**63, 2**64 - 1, 2**64]),
    st.floats(allow_nan=False),
    st.sampled_from(
        ["", "reno", "tahoe", "sack", "fack", "prr", "cubic", "every", "bulk", "server", "drop-tail"]
    ),
    st.just([]),
    st.just({}),
)


def paths(value: Any, here: Path = ()) -> Iterator[Path]:
    """Every place in the scenario."""
    yield here
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from paths(inner, (*here, key))


def put(value: Any, path: Path, leaf: Any) -> Any:
    """The scenario with another value at that place."""
    if not path:
        return leaf
    value[path[0]] = put(value[path[0]], path[1:], leaf)
    return value


@settings(
    max_examples=400,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(data=st.data(), profile=st.sampled_from(["ns2-1998", "rfc5681", "linux-6"]))
def test_a_scenario_with_anything_anywhere_runs_or_is_refused(
    data: st.DataObject, profile: str, scenario: Make
) -> None:
    sound = scenario(profile)
    sound["duration_ns"] = 2_000_000_000
    broken = copy.deepcopy(sound)
    for _ in range(data.draw(st.integers(1, 2))):
        path = data.draw(st.sampled_from(sorted(paths(broken), key=str)))
        broken = put(broken, path, data.draw(LEAVES))
        if not isinstance(broken, dict) or len(json.dumps(broken)) < 100:
            break
    if isinstance(broken, dict) and broken.get("duration_ns") != sound["duration_ns"]:
        return  # a long run is not wrong, but would take the test's time
    try:
        records = _core.run(json.dumps(broken), 1, 0)
    except ValueError as refused:
        assert len(str(refused)) > 10
        return
    total = records.summary
    assert total["injected"] == total["delivered"] + total["dropped"] + total["in_flight"]


@given(st.text())
def test_a_text_that_is_not_json_is_refused(text: str) -> None:
    try:
        _core.check_scenario(text)
    except ValueError as refused:
        assert str(refused).startswith("scenario: ")
    else:
        raise AssertionError("accepted")
