"""Every mistake in a study file gets one message with file, line, key, and what would be right."""

from __future__ import annotations

import pickle
import re
from pathlib import Path

import pytest

from cwndlab.api import Study
from cwndlab.base.errors import StudyError
from small_study import TEXT, edited


def error_of(text: str, tmp_path: Path) -> StudyError:
    file = tmp_path / "study.toml"
    file.write_text(text)
    with pytest.raises(StudyError) as caught:
        Study.load(file).plan().check()
    assert caught.value.file == str(file)
    return caught.value


CASES = {
    "unknown section": (
        ('[probes]\nsegments_at = "a"', "[probe]\nx = 1"),
        "probe",
        "unknown key",
        '"probes"',
    ),
    "unknown key": (("seed = 7", "sed = 7"), "run.sed", "unknown key", '"seed"'),
    "unknown key in an inline table": (
        ("limit =", "limt ="),
        "topology.links.wire.queue.limt",
        "unknown key",
        '"limit"',
    ),
    "unknown TCP knob": (
        ("rto =", "initial_windw = 3\nrto ="),
        "tcp.initial_windw",
        "no TCP knob",
        '"initial_window"',
    ),
    "unknown nested knob": (("min = ", "mim = "), "tcp.rto.mim", "no TCP knob", '"min"'),
    "unknown profile": (("rfc5681", "rfc5861"), "tcp.profile", "rfc5861", "rfc5681"),
    "a nested knob without effect": (
        ("rto =", "sack = true\nrecovery.rack.window_validation = true\nrto ="),
        "tcp.recovery.rack.window_validation",
        "has no effect",
        "grow_only_if_cwnd_limited = true",
    ),
    "a knob of another recovery": (
        ("rto =", "recovery = { reno = { f_rto = true } }\nrto ="),
        "tcp.recovery.reno.f_rto",
        "another place",
        "recovery.rack.f_rto",
    ),
    "an unknown knob of a recovery": (
        ("rto =", "recovery = { new-reno = { impatent = true } }\nrto ="),
        "tcp.recovery.new-reno.impatent",
        "no TCP knob",
        '"impatient"',
    ),
    "a knob of a recovery that has none": (
        ("rto =", "recovery = { tahoe = { impatient = true } }\nrto ="),
        "tcp.recovery.tahoe.impatient",
        "no TCP knob",
        "tahoe has no knobs",
    ),
    "an unknown recovery": (("rto =", 'recovery = "rak"\nrto ='), "tcp.recovery", "no recovery", '"rack"'),
    "two recoveries": (
        ("rto =", "recovery = { reno = {}, rack = {} }\nrto ="),
        "tcp.recovery",
        "both reno and rack",
        'recovery = "reno"',
    ),
    "a number for a recovery": (("rto =", "recovery = 3\nrto ="), "tcp.recovery", "3 does not fit", '"fack"'),
    "a recovery's knobs that are no table": (
        ("rto =", "recovery = { rack = true }\nrto ="),
        "tcp.recovery.rack",
        "True does not fit",
        "a table of knobs",
    ),
    "a word for a handshake": (
        ("rto =", 'handshake = "fast"\nrto ='),
        "tcp.handshake",
        "'fast' does not fit",
        "true, false or a table",
    ),
    "a knob that has moved": (
        ("rto =", "f_rto = true\nrto ="),
        "tcp.f_rto",
        "another place",
        "recovery.rack.f_rto",
    ),
    "a nested knob that has moved": (
        ("min = ", "times_handshake = false, min = "),
        "tcp.rto.times_handshake",
        "another place",
        "handshake.timed",
    ),
    "a switch that has become a value": (
        ("min = ", "one_way = true, min = "),
        "tcp.rto.one_way",
        "another place",
        'rto.samples = "one-way-delay" or "round-trip"',
    ),
    "a knob with its unit that has moved": (
        ("rto =", 'time_wait = "1s"\nrto ='),
        "tcp.time_wait",
        "another place",
        "fin.time_wait",
    ),
    "knobs out of their ranges, all at once": (
        ("rto =", 'dup_thresh = 0\nack_policy = { delayed = { timeout = "0s" } }\nrto ='),
        "tcp.dup_thresh",
        "0 does not fit",
        "tcp.ack_policy.delayed.timeout: 0ms does not fit",
    ),
    "an unknown knob of an acknowledgment policy": (
        ("rto =", 'ack_policy = { delayed = { timeout = "1ms", tmeout = "2ms" } }\nrto ='),
        "tcp.ack_policy",
        "tmeout",
        '"timeout"',
    ),
    "a knob of Linux's Reno with ns-2's rules": (
        ('profile = "rfc5681"', 'profile = "ns2-1998"\nrecovery.reno.outlives_timeout = true'),
        "tcp.recovery.reno.outlives_timeout",
        "true does not fit",
        "with recovery.reno.rules = ns2-1998 it must be false",
    ),
    "a knob that several have replaced": (
        ("rto =", "one_way_agents = true\nrto ="),
        "tcp.one_way_agents",
        "another place",
        "packet_stamps",
    ),
    "ns-2's FACK without stamps": (
        (
            'profile = "rfc5681"',
            'profile = "ns2-1998"\nrecovery = "fack"\nsack = true\npacket_stamps = false',
        ),
        "tcp.packet_stamps",
        "false does not fit",
        "with recovery.fack.rules = ns2-1998 it must be true",
    ),
    "recovery by SACK without SACK": (
        ("rto =", 'recovery = "sack"\nrto ='),
        "tcp.recovery",
        "has no effect",
        "sack = true",
    ),
    "HyStart with a window in packets": (
        ("rto =", 'window_law = "reno-packets"\nslow_start = "hystart"\nrto ='),
        "tcp.slow_start",
        "has no effect",
        "window_law",
    ),
    "a knob with its unit, without effect": (
        ("rto =", 'window_law = "reno-packets"\nslow_start_limit = "8pkt"\nrto ='),
        "tcp.slow_start_limit",
        "has no effect",
        "a window_law in bytes",
    ),
    "a buffer that grows next to adaptive acknowledgments": (
        (
            'profile = "rfc5681"',
            'profile = "linux-2.0"\nreceive_tuning = { linux = { initial_bytes = 4096, most_bytes = 9999 } }',
        ),
        "tcp.receive_tuning",
        "has no effect",
        "an ack_policy other than adaptive",
    ),
    "unknown queue": (
        ('kind = "drop-tail"', 'kind = "drop-tial"'),
        "topology.links.wire.queue",
        "drop-tial",
        "drop-tail",
    ),
    "unknown application": (('kind = "bulk"', 'kind = "blk"'), "traffic.bulk.app", "blk", "bulk"),
    "unknown key of an application": (
        ('kind = "bulk"', 'kind = "bulk", byts = "1MB"'),
        "traffic.bulk.app",
        "byts",
        '"bytes"',
    ),
    "wrong unit": (
        ('delay = "10ms"', 'delay = "10Mbps"'),
        "topology.links.wire.delay",
        "unit is unknown",
        "ns us ms s",
    ),
    "no unit": (('delay = "10ms"', "delay = 10"), "topology.links.wire.delay", "not a time", '"10ms"'),
    "unit of another kind for a knob": (('"200ms"', '"200B"'), "tcp.rto.min", "is a time", '"200ms"'),
    "negative rate": (('"1Mbps"', '"-1Mbps"'), "topology.links.wire.rate", "sign", "1.5Mbps"),
    "no rate at all": (('"1Mbps"', '"0bps"'), "topology.links.wire.rate", "above 0", ""),
    "wrong limit": (('"25pkt"', '"25kg"'), "topology.links.wire.queue.limit", "no queue limit", "1BDP"),
    "missing key": (('duration = "50ms"\n', ""), "run.duration", "missing", '"50ms"'),
    "no time": (('duration = "50ms"', 'duration = "0s"'), "run.duration", "no time", ""),
    "unknown node": (('server = "b"', 'server = "c"'), "traffic.bulk.server", 'no node "c"', "a, b"),
    "unreachable node": (('nodes = ["a", "b"]', 'nodes = ["a", "b", "c"]'), "", "", ""),
    "axis named as a column": (
        ("[axes.iw]", "[axes.cell]"),
        "axes.cell",
        'have a column "cell"',
        "another name",
    ),
    "wrong probe": (('segments_at = "a"', 'queues = ["a>c"]'), "probes.queues.1", "no direction", '"a>b"'),
    "text for a number": (
        ("replicates = 3", 'replicates = "three"'),
        "run.replicates",
        "'three'",
        "whole number",
    ),
    "no replicates": (
        ("replicates = 3", "replicates = 0"),
        "run.replicates",
        "0",
        "at least 1",
    ),
    "unknown reference": (("$webs", "$web"), "traffic.bulk.count", '"web" is neither', '"webs"'),
    "cycle of references": (
        ("webs = 2", 'webs = "$x"\nx = "= y + 1"\ny = "{webs}"'),
        "parameters",
        "in a circle",
        "",
    ),
    "axis of nothing": (('sets = "tcp.initial_window"\n', ""), "axes.iw", "names no parameter", "sets ="),
    "axis that misses": (
        ('"tcp.initial_window"', '"tpc.initial_window"'),
        "axes.iw",
        "names no parameter",
        '"tcp"',
    ),
    "axis that misses a list": (
        ('"tcp.initial_window"', '"topology.links.wier.rate"'),
        "axes.iw",
        'there is no "wier"',
        '"wire"',
    ),
    "axis value that does not fit": (
        ('"tcp.initial_window"', '"run.duration"'),
        "axes.iw",
        "run.duration",
        "1s",
    ),
    "empty axis": (("values = [1, 4]", "values = []"), "axes.iw.values", "", "at least 1"),
    "axis value twice": (("values = [1, 4]", "values = [1, 1]"), "axes.iw", "stands twice", ""),
    "unknown metric": (
        ('metric = "goodput"', 'metric = "godput"'),
        "quantities.goodput.metric",
        "no metric",
        '"goodput"',
    ),
    "unit that does not convert": (
        ('"kbit/s"', '"ms"'),
        "quantities.goodput.unit",
        "not a unit of a rate",
        "kbit/s",
    ),
    "unknown option": (
        ("unit =", "options = { trafic = 1 }\nunit ="),
        "quantities.goodput",
        "unknown key",
        '"traffic"',
    ),
    "a number without end": (("p = 0.01", "p = inf"), "topology.links.wire", "not finite", ""),
    "texts that multiply": (
        (
            "webs = 2",
            "webs = 2\nx0 = 'aaaaaaaaaa'\n" + "".join(f"x{i + 1} = '{f'{{x{i}}}' * 10}'\n" for i in range(9)),
        ),
        "parameters.x3",
        "characters",
        "at most 2000",
    ),
    "links without end": (
        ('between = ["a", "b"]', f"between = [{['a'] * 1000}, {['b'] * 1000}]"),
        "topology.links.wire.between",
        "too many links",
        "at most 50000",
    ),
    "probability above one": (("p = 0.01", "p = 1.5"), "topology.links.wire", "1.5", "0..=1"),
    "code in an expression": (
        ("$webs", "= __import__('os').getpid()"),
        "traffic.bulk.count",
        "not allowed",
        "",
    ),
    "power in an expression": (("$webs", "= 9 ** 9 ** 9"), "traffic.bulk.count", "not allowed", ""),
    "sweep without end": (
        (
            "[[quantities]]",
            "".join(f'[axes.x{i}]\nsets = "run.seed"\nvalues = {list(range(1000))}\n' for i in range(3))
            + "[[quantities]]",
        ),
        "axes",
        "2,000,000,000 cells",
        "at most",
    ),
}
del CASES["unreachable node"]


@pytest.mark.parametrize("case", CASES)
def test_a_mistake_is_named_with_its_key_and_what_would_be_right(case: str, tmp_path: Path) -> None:
    change, key, problem, right = CASES[case]
    error = error_of(edited(change), tmp_path)
    assert key in (error.key or ""), error
    assert problem in str(error) and right in str(error), error
    assert error.line is not None, error


def test_an_unreachable_node_is_named_with_what_is_reached(tmp_path: Path) -> None:
    text = edited(('nodes = ["a", "b"]', 'nodes = ["a", "b", "c"]'), ('server = "b"', 'server = "c"'))
    error = error_of(text, tmp_path)
    assert "c" in error.problem and "reaches only b" in error.problem and error.key == "traffic.bulk.server"


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (('delay = "10ms"', "delay = 10"), "delay = 10\n"),
        (("seed = 7", "sed = 7"), "sed = 7"),
        (("$webs", "$web"), "$web"),
        (("p = 0.01", "p = 1.5"), "impairments"),
        (("min = ", "mim = "), "rto ="),
    ],
)
def test_the_line_is_that_of_the_key(change: tuple[str, str], line: str, tmp_path: Path) -> None:
    text = edited(change)
    error = error_of(text, tmp_path)
    wanted = text[: text.index(line)].count("\n") + 1
    assert error.line == wanted


def test_a_file_that_is_not_toml_is_named_with_the_line(tmp_path: Path) -> None:
    error = error_of(TEXT.replace("[run]", "[run"), tmp_path)
    assert "not TOML" in error.problem and error.line == TEXT[: TEXT.index("[run]")].count("\n") + 1


@pytest.mark.parametrize("content", [b"\xff\xfe", b"", b"\x00", b"x = " + b"[" * 10_000])
def test_any_file_gets_a_message(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_bytes(content)
    with pytest.raises(StudyError):
        Study.load(tmp_path)


def test_an_unknown_study_suggests_the_nearest() -> None:
    with pytest.raises(StudyError, match="rfc2416"):
        Study.load("rfc2461")


def test_errors_of_sets_name_the_option() -> None:
    study = Study.from_toml(TEXT)
    for key, right in {"webbs": '"webs"', "run.sed": '"seed"', "tcp.initial_windw": "initial_window"}.items():
        with pytest.raises(StudyError, match=right):
            study.set({key: 3}).plan().check()
    with pytest.raises(StudyError, match="axis iw has no value 'four'"):
        study.set({"iw": "four"})


MISTAKES = (
    ("seed = 7", "sed = 7"),
    ('delay = "10ms"', 'delay = "10mss"'),
    ('metric = "goodput"', 'metric = "goodputt"'),
    ("replicates = 3", 'replicates = "three"'),
)


def test_all_mistakes_of_a_file_are_named_at_once_each_with_its_line_and_column(tmp_path: Path) -> None:
    text = edited(*MISTAKES) + '[[tables]]\nid = "t"\ntitle = "T"\nrows = ["ivv"]\ncolumns = []\n'
    error = error_of(text, tmp_path)
    found = {one.key: (one.line, one.column) for one in (error, *error.others)}
    lines = text.splitlines()
    assert found == {
        "topology.links.wire.delay": (lines.index('delay = "10mss"') + 1, 1),
        "run.sed": (lines.index("sed = 7") + 1, 1),
        "run.replicates": (lines.index('replicates = "three"') + 1, 1),
        "tables.t.columns": (lines.index("columns = []") + 1, 1),
    }
    assert [one.line for one in (error, *error.others)] == sorted(line for line, _ in found.values())
    assert str(error).count(f"{tmp_path}/study.toml:") == 4 and 'did you mean "ms"?' in str(error)
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error)


def test_mistakes_in_what_is_asked_and_shown_are_named_together(tmp_path: Path) -> None:
    columns = 'columns = [{ heading = "x", quantity = "goodpt" }]\n'
    shown = f'[[tables]]\nid = "t"\ntitle = "T"\nrows = ["ivv"]\n{columns}'
    error = error_of(edited(('metric = "goodput"', 'metric = "goodputt"')) + shown, tmp_path)
    assert [one.key for one in (error, *error.others)] == [
        *("quantities.goodput.metric", "tables.t.rows", "tables.t.columns.1.quantity")
    ]
    error = error_of(edited(("$webs", "$wbs")) + shown.replace("ivv", "iw"), tmp_path)
    assert [one.key for one in (error, *error.others)] == [
        "traffic.bulk.count",
        "tables.t.columns.1.quantity",
    ]
    assert error.others[0].column == columns.index("quantity") + 1


MORE = """
[[traffic]]
name = "more"
client = "a"
server = "b"
tcp = "y"
app = { kind = "bulk" }

[tcp]"""


def test_mistakes_of_short_forms_and_of_what_they_leave_are_named_at_once() -> None:
    text = """
title = "x"
measure = ["goodput", "thruput"]

[dumbbell]
rate = "50Mbs"
rtt = "40ms"
flows = [{ cc = "cubik" }, { cc = "reno", cout = 2 }]

[tcp]
initial_windw = 10

[run]
duration = "3s"
"""
    with pytest.raises(StudyError) as caught:
        Study.from_toml(text)
    keys = [error.key for error in (caught.value, *caught.value.others)]
    assert keys == [
        *("measure.2", "dumbbell.rate", "dumbbell.flows.1.cc", "dumbbell.flows.2.cout", "tcp.initial_windw")
    ]


def test_each_flow_that_is_no_table_is_named() -> None:
    dumbbell = 'rate = "50Mbps", rtt = "40ms", flows = ["a", {}, "b"]'
    text = f'title = "x"\nmeasure = ["goodput"]\ndumbbell = {{ {dumbbell} }}\nrun = {{ duration = "3s" }}\n'
    with pytest.raises(StudyError) as caught:
        Study.from_toml(text)
    keys = [error.key for error in (caught.value, *caught.value.others)]
    assert keys == ["dumbbell.flows.1", "dumbbell.flows.3"]


def test_a_wrong_run_hides_no_wrong_knob_and_one_knob_no_other() -> None:
    text = """
title = "x"
measure = ["goodput"]
dumbbell = { rate = "5Mbps", rtt = "40ms", flows = [{ cc = "cubic" }] }
run = { duration = "3 parsecs" }
tcp = { dup_tresh = 3, nagle = "x" }
"""
    with pytest.raises(StudyError) as caught:
        Study.from_toml(text)
    keys = [error.key for error in (caught.value, *caught.value.others)]
    assert keys == ["run.duration", "tcp.dup_tresh", "tcp.nagle"]


def test_errors_that_only_compiling_finds_are_reported_at_once() -> None:
    text = edited(
        ('limit = "25pkt"', 'limit = "25foo"'),
        ('server = "b"', 'server = "c"'),
        ("[tcp]", MORE),
        ("[run]", "[tcp.groups.x]\nsackk = true\n\n[run]"),
    )
    with pytest.raises(StudyError) as caught:
        Study.from_toml(text).plan().check()
    found = [caught.value, *caught.value.others]
    assert [error.key for error in found] == [
        *("topology.links.wire.queue.limit", "traffic.bulk.server", "traffic.more.tcp", "tcp.groups.x.sackk")
    ]
    assert [error.line for error in found] == sorted(error.line or 0 for error in found)


@pytest.mark.parametrize(
    ("name", "message"),
    [('title = "a"\n', "this is the text of a study"), ("x" * 300, "a study is a shipped name or a file")],
)
def test_what_is_no_name_of_a_study_is_a_clear_error(name: str, message: str) -> None:
    with pytest.raises(StudyError, match=message):
        Study.load(name)


SMALL = """
title = "x"
measure = ["share"]
[dumbbell]
rate = "5Mbps"
rtt = "20ms"
flows = [{ cc = "cubic" }]
[run]
duration = "1s"
"""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            SMALL + "".join(f"key{k} = {k}\n" for k in range(20_000)),
            r"run: there are 20001 keys; at most 1,000",
        ),
        (
            SMALL + "".join(f"[x{k}.y.z]\na = 1\n" for k in range(5_000)),
            r"there are 5004 keys; at most 1,000",
        ),
        ("a." * 125_000 + "b = 1\n" + SMALL, r":1: a key has more than 30 parts"),
        ("x = " + "[" * 200 + "]" * 200 + SMALL, r"nested|not TOML"),
        (f'x = "{"a" * 1_000_001}"' + SMALL, r"characters; at most 1,000,000"),
        (SMALL + f"[axes.a]\nvalues = [{'1, ' * 10_001}]\n", r"axes.a.values: the list has 10001 elements"),
        (SMALL + '[[quantities]]\nname = "a"\n' * 1_001, r"quantities: the list has 1001 tables"),
        (SMALL + "[[traffic]]\n" * 10_001, r"traffic: the list has 10001 elements; at most 10,000"),
        (SMALL.replace('"share"', '"nothing", ' * 1_001), r"measure: the list has 1001 measures; at most"),
        (
            SMALL.replace('cc = "cubic"', 'app = { kind = {}, bytes = "1MB" }'),
            r"app.kind: a table does not fit",
        ),
        (SMALL.replace('"share"', "1" + "0" * 400), r"measure.*more than 64 bits"),
    ],
)
def test_a_study_of_any_size_is_answered(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "study.toml"
    file.write_text(text)
    with pytest.raises(StudyError, match=message):
        Study.load(file)


def test_no_more_errors_are_reported_than_a_person_reads() -> None:
    with pytest.raises(StudyError) as caught:
        Study.from_toml(SMALL + "".join(f"key{k} = {k}\n" for k in range(100)))
    lines = str(caught.value).splitlines()
    assert len(lines) == 30 and lines[-1] == "and 71 more errors"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('[run]\nduration = "1s"\n', "", r"^run: this key is missing"),
        (
            '"20ms"',
            "20",
            r'dumbbell.rtt: 20 is not a time; write a number and its unit in quotes, like "20ms"',
        ),
    ],
)
def test_a_missing_section_and_a_missing_unit_are_named(old: str, new: str, message: str) -> None:
    with pytest.raises(StudyError, match=message):
        Study.from_toml(SMALL.replace(old, new))


@pytest.mark.parametrize(
    ("quantity", "right"),
    [
        ('derived = "ratio"\nof = "goodput"\nby = "goodput"', 'write derived = "goodput / goodput"'),
        ('derived = "increase"\nof = "new"\nby = "old"', 'write derived = "increase(old, new)"'),
        ('derived = "goodput"', "does not combine two quantities; write"),
        ('derived = "goodput ** goodput"', "is not allowed in an expression"),
        ('derived = "goodput / gudput"', 'there is no quantity "gudput"; did you mean "goodput"?'),
    ],
)
def test_a_derived_quantity_that_is_not_an_expression_of_two_is_an_error(quantity: str, right: str) -> None:
    with pytest.raises(StudyError, match=re.escape(right)):
        Study.from_toml(f'{TEXT}\n[[quantities]]\nname = "share"\n{quantity}\n')


def test_an_axis_that_a_grid_does_not_vary_has_one_value() -> None:
    grid = "[[grids]]\naxes = []\nwhere = { iw = [1, 4] }\n[[quantities]]"
    with pytest.raises(StudyError, match=r'axis "iw" is held at one value.*or name it in `axes`'):
        Study.from_toml(edited(("[[quantities]]", grid)))


@pytest.mark.parametrize(
    "key", ["axes = ['no_axis']", "where = { no_axis = 1 }", "cells = [{ no_axis = 1 }]"]
)
def test_an_unknown_axis_of_a_grid_next_to_an_unknown_flow_is_an_error(tmp_path: Path, key: str) -> None:
    options = '[[quantities]]\nname = "other"\nmetric = "goodput"\noptions = { traffic = "nobody" }\n'
    error = error_of(f"{edited()}\n[[grids]]\n{key}\n{options}", tmp_path)
    assert 'there is no axis "no_axis"' in str(error)
    assert (error.key or "").startswith("grids.1.")
