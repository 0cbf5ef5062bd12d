"""Whatever a law in Python does, the run gives records that add up, or an error that names the law's line."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from cwndlab import CongestionControl, _core
from cwndlab.base.usercode import execute
from fuzzing import Answers, tries

DIGEST = "0123456789abcdef" * 2
FILE = "fuzzed.py"
Make = Callable[..., dict[str, Any]]

NUMBERS = ["0", "-1", "1", "1460.5", "1e9", "1e308", "-0.0", "nan", "inf", "2**70", "10**400", "True"]
OTHERS = ["None", "'x'", "b'x'", "[]", "{}", "self", "object", "len", "lambda: 1", "1j"]
READ = ["now_s", "mss", "growth_bytes", "acked_bytes", "delivered_bytes", "rtt_s", "srtt_s", "rate", "kind"]
SIZES = st.sampled_from(
    [
        "event.mss",
        "1460.5",
        "1e9",
        "2**70",
        "self.cwnd_bytes * 2",
        "self.cwnd_bytes / 2 + 1",
        "self.cwnd_bytes + event.mss",
    ]
)
VALUES = st.one_of(
    st.sampled_from(NUMBERS + OTHERS),
    st.sampled_from(READ).map(lambda name: f"getattr(event, '{name}', 1)"),
    SIZES,
)
PLACES = st.sampled_from(
    [
        "self.cwnd_bytes",
        "self.ssthresh_bytes",
        "self.pacing_rate_bps",
        "self.kept",
        "self.on_ack",
        "event.mss",
        "self.__class__",
    ]
)
SOUND = st.tuples(st.sampled_from(["self.cwnd_bytes", "self.pacing_rate_bps", "self.kept"]), SIZES).map(
    " = ".join
)
STATEMENTS = st.one_of(
    SOUND,
    SOUND,
    SOUND,
    st.tuples(PLACES, VALUES).map(" = ".join),
    st.tuples(PLACES, VALUES).map(" += ".join),
    PLACES.map("del {}".format),
    VALUES.map("return {}".format),
    VALUES.map("raise {}".format),
    st.sampled_from(["ValueError('x')", "MemoryError", "StopIteration", "RecursionError", "E()"]).map(
        "raise {}".format
    ),
    st.sampled_from(
        [
            "pass",
            "self.random.random()",
            "self.on_ack(event)",
            "self.on_timeout(event)",
            "self.on_loss(event)",
            "super().on_ack(event)",
            "self.__init__()",
            "type(self).on_ack = None",
            "type(self).owns_recovery = 'x'",
            "1 / 0",
            "repr(event), str(self)",
        ]
    ),
)
BODIES = st.lists(STATEMENTS, min_size=1, max_size=4)
ATTRIBUTES = st.dictionaries(
    st.sampled_from(["uses_slow_start", "owns_recovery", "uses_random", "on_undo", "__slots__"]),
    st.sampled_from(["True", "False", "None", "'x'", "property(lambda self: 1 / 0)", "()"]),
    max_size=2,
)


def source(bodies: dict[str, list[str]], attributes: dict[str, str]) -> str:
    """The text of a law with these methods and class attributes."""
    lines = ["import cwndlab", "from math import inf, nan", "", "class E(Exception):"]
    lines += ["    def __str__(self): return 1 / 0", "", "class Law(cwndlab.CongestionControl):", "    pass"]
    lines += [f"    {name} = {value}" for name, value in attributes.items()]
    for method, body in bodies.items():
        parameters = {"on_start": "self, now_s, event", "__init__": "self, *event"}.get(method, "self, event")
        lines += [f"    def {method}({parameters}):", *(f"        {statement}" for statement in body)]
    return "\n".join(lines) + "\n"


def test_a_law_that_does_anything_runs_or_names_its_fault(scenario: Make) -> None:
    answers = Answers()
    lossy = scenario(window_law={"external": {"code": DIGEST, "random": False}})
    lossy["duration_ns"] = 2_000_000_000
    lossy["links"][1]["impairments"] = [{"kind": "bernoulli", "p": 0.05}]
    text = json.dumps(lossy)

    def run(made: type[CongestionControl]) -> None:
        try:
            done = _core.run(text, 1, 0, laws={DIGEST: made}, max_events=100_000, max_memory_bytes=50_000_000)
        except (_core.LawFailed, _core.BudgetError) as fault:
            assert re.search(rf"{FILE}:\d+: |Law\.\w+: |budget|events|memory", str(fault)), fault
            raise
        total = done.summary
        assert total["injected"] == total["delivered"] + total["dropped"] + total["in_flight"]

    @tries(300)
    @given(
        bodies=st.fixed_dictionaries(
            {"on_ack": BODIES, "on_loss": BODIES},
            optional=dict.fromkeys(["on_start", "on_timeout", "on_undo", "__init__"], BODIES),
        ),
        attributes=ATTRIBUTES,
    )
    @example(bodies={"on_ack": ["self.cwnd_bytes = inf"]}, attributes={"owns_recovery": "True"})
    @example(bodies={"on_ack": ["raise E()"], "on_loss": ["pass"]}, attributes={})
    def define_and_run(bodies: dict[str, list[str]], attributes: dict[str, str]) -> None:
        try:
            made: type[CongestionControl] = execute(source(bodies, attributes), FILE, "--cc").Law
        except Exception as error:  # the class itself is not valid Python
            assert FILE in str(error)
            return
        with answers.counted((_core.LawFailed, _core.BudgetError)):
            run(made)

    define_and_run()
    answers.check(accepted=0.05, rejected=0.1)
