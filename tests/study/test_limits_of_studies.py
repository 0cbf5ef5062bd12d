"""How large a study may be, what its document keeps of changes, and where its errors lie."""

from __future__ import annotations

import errno
from datetime import date, datetime, time
from pathlib import Path
from typing import Any

import pytest

from cwndlab.api import Study
from cwndlab.base.errors import StudyError
from cwndlab.study import added_axes, document, files
from cwndlab.study.building import MAX_ITEMS, MAX_KEYS, MAX_TABLES, _depth, _unfit
from cwndlab.study.congestion import congestion_control, default_ecn, is_unknown, spell_out
from cwndlab.study.document import MAX_DEPTH, MAX_TEXT, Document, is_short, read_toml
from cwndlab.study.network_form import Expanded, NetworkForm
from cwndlab.study.place import Place, dotted_key
from cwndlab.study.resolve import put, references, steps
from cwndlab.study.shorthand import Dumbbell
from small_study import TEXT, edited


@pytest.mark.parametrize(
    ("value", "misfit"),
    [
        ({str(k): 1 for k in range(MAX_KEYS)}, None),
        ({str(k): 1 for k in range(MAX_KEYS + 1)}, ("there are 1001 keys", "at most 1,000")),
        ([1] * MAX_ITEMS, None),
        ([1] * (MAX_ITEMS + 1), ("the list has 10001 elements", "at most 10,000")),
        ([{}] * MAX_TABLES, None),
        ([{}] * (MAX_TABLES + 1), ("the list has 1001 tables", "at most 1,000")),
        ([1] * (MAX_TABLES + 1), None),
        (2**64 - 1, None),
        (-(2**64) + 1, None),
        (2**64, ("the number has more than 64 bits", "write a smaller one")),
        (-(2**64), ("the number has more than 64 bits", "write a smaller one")),
        *(
            (value, ("dates and times of day have no meaning in a study", "write it in quotes"))
            for value in (date(2026, 1, 1), time(1, 2), datetime(2026, 1, 1))
        ),
        (1.5, None),
        ("x", None),
    ],
)
def test_a_value_that_no_study_may_have_is_found_wherever_it_is(
    value: Any, misfit: tuple[str, str] | None
) -> None:
    found = _unfit({"a": [0, {"b": value}], "later": 2**65}) if misfit else _unfit({"a": [0, {"b": value}]})
    assert found == (None if misfit is None else (("a", 1, "b"), *misfit))


def test_a_network_may_have_more_tables_and_measures_no_more_than_tables() -> None:
    many = [{}] * (MAX_TABLES + 1)
    assert _unfit({"topology": {"links": many}, "traffic": many}) is None
    assert _unfit({"measure": ["goodput"] * MAX_TABLES}) is None
    assert _unfit({"measure": ["goodput"] * (MAX_TABLES + 1)}) == (
        *(("measure",), "the list has 1001 measures"),
        "at most 1,000",
    )


@pytest.mark.parametrize(
    ("value", "depth"), [({}, 1), ({"a": 1}, 2), ({"a": {"b": [1]}}, 4), ([[[]]], 3), ([[1], [[2]]], 4)]
)
def test_the_depth_of_a_study_counts_tables_and_lists(value: Any, depth: int) -> None:
    assert _depth(value) == depth


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


def test_a_study_is_nested_at_most_30_deep() -> None:
    assert MAX_DEPTH == 30 and _depth(nested(29)) == 30 and _depth(nested(100)) == 32
    for levels in (28, 29, 100):
        with pytest.raises(StudyError) as error:
            Study.from_dict({"title": "x", "bogus": nested(levels)})
        too_deep = error.value.problem.startswith("tables are nested")
        assert too_deep is (levels > 28), levels


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("a = 1\nb = = 2\n", 2, "this is not TOML: invalid value at column 5"),
        ("a = 1\nb = [1,", 2, "this is not TOML: invalid value (at end of document)"),
        ("a = 1\n\na = 2\n", 3, "this is not TOML: cannot overwrite a value at column 6"),
        (f"x = 1\n{'a.' * 30}b = 1\n", None, None),
        (f"x = 1\n{'a.' * 31}b = 1\n", 2, "a key has more than 30 parts"),
        (f"x = 1\n{'a . ' * 31}b = 1\n", 2, "a key has more than 30 parts"),
        ("#" * (MAX_TEXT - 1) + "\n", None, None),
        ("#" * MAX_TEXT + "\n", None, "the text has 1,000,001 characters"),
    ],
)
def test_a_text_that_is_no_study_is_reported_with_its_line(
    text: str, line: int | None, problem: str | None
) -> None:
    if problem is None:
        read_toml(text, None)
        return
    with pytest.raises(StudyError) as error:
        read_toml(text, Path("s.toml"))
    assert (error.value.line, error.value.problem, error.value.file) == (line, problem, "s.toml")


def test_the_claims_of_a_study_are_wrong_in_their_own_file(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(TEXT)
    (tmp_path / "claims.toml").write_text('[[claims]]\nid = "c"\nsection = "1"\ntext = "t"\nasert = "1"\n')
    with pytest.raises(StudyError) as error:
        Study.load(tmp_path)
    assert error.value.file == str(tmp_path / "claims.toml")
    assert (error.value.line, error.value.key, error.value.problem) == (
        *(5, "claims.c.asert"),
        "unknown key 'asert'",
    )


def test_a_document_keeps_the_last_change_of_each_key() -> None:
    plain = Document("a", {"x": {"y": 1}, "run": {}}, "text", Path("f/study.toml"))
    twice = plain.change({"x.y": 2, "run.seed": 1}).change({"x.y": 3})
    assert dict(twice.changes) == {"run.seed": 1, "x.y": 3} and list(twice.changes) == ["run.seed", "x.y"]
    replaced = twice.with_sections({"x": {"z": 5}})
    assert dict(replaced.tables) == {"x": {"z": 5}, "run": {}} and dict(replaced.changes) == {"run.seed": 1}
    assert replaced.text is None and twice.text == "text"
    assert (plain.folder, Document("a", {}).folder) == (Path("f"), None)
    assert plain.networks == [] and Document("a", {"dumbbell": {}}).networks == ["dumbbell"]


@pytest.mark.parametrize(
    ("key", "value", "short"),
    [
        ("dumbbell.rate", "1Mbps", True),
        ("run.kernel", "6.12", True),
        ("run.seed", 1, False),
        ("parameters.x", [1, 2], True),
        ("parameters.x", 1, False),
        ("tcp.x", [1], False),
    ],
)
def test_changes_of_short_forms_are_made_before_they_are_written_out(
    key: str, value: object, short: bool
) -> None:
    assert is_short(key, value) is short


def test_the_name_of_a_study_is_that_of_its_folder_or_file(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "study.toml").write_text(TEXT)
    (folder / "other.toml").write_text(TEXT)
    assert document.read_document(folder).name == document.read_document(folder / "study.toml").name == "mine"
    assert document.read_document(folder / "other.toml").name == "other"
    with pytest.raises(StudyError) as error:
        document.read_document(folder / "missing.toml")
    assert error.value.right is None
    with pytest.raises(StudyError) as error:
        document.read_document("rfc2417")
    assert error.value.problem == 'there is no study "rfc2417"' and "rfc2416" in str(error.value.right)


RAW = {
    "topology": {"links": [{"name": "wire", "rate": 1}, {"between": ["a", "b"]}, {"between": ["a"]}]},
    "tcp": {"recovery": "reno", "rto": {"min": 1}, "on": True, "n": 3},
    "x": 5,
}


@pytest.mark.parametrize(
    ("key", "path"),
    [
        ("topology.links.wire.rate", ("topology", "links", 0, "rate")),
        ("topology.links.a-b.rate", ("topology", "links", 1, "rate")),
        ("topology.links.3.rate", ("topology", "links", 2, "rate")),
        ("tcp.recovery.reno.x", ("tcp", "recovery", "reno", "x")),
        ("tcp.on.x", ("tcp", "on", "x")),
        ("tcp.new.deep.x", ("tcp", "new", "deep", "x")),
    ],
)
def test_a_dotted_key_leads_into_lists_by_names_and_numbers(key: str, path: tuple[Any, ...]) -> None:
    assert steps(RAW, key, ["topology", "tcp"]) == path


@pytest.mark.parametrize(
    ("key", "problem", "right"),
    [
        (
            "topology.links.0.rate",
            '"topology.links.0.rate" names no parameter: there is no "0"',
            "known: wire, a-b",
        ),
        (
            "topology.links.4.rate",
            '"topology.links.4.rate" names no parameter: there is no "4"',
            "known: wire, a-b",
        ),
        ("tcp.n.x", '"tcp.n.x" names no parameter: the part before "x" is not a table', None),
        ("tcp", '"tcp" is a whole section', "name a key inside it"),
        ("tcp..x", '"tcp..x" is no dotted key', "write for instance topology.links.modem.rate"),
        ("tpc.x", '"tpc.x" names no parameter of the study', 'did you mean "tcp"?'),
    ],
)
def test_a_dotted_key_that_leads_nowhere_is_reported(key: str, problem: str, right: str | None) -> None:
    with pytest.raises(StudyError) as error:
        steps(RAW, key, ["topology", "tcp"])
    assert (error.value.problem, error.value.right) == (problem, right)


def test_a_value_is_put_with_the_tables_on_its_way() -> None:
    raw: dict[str, Any] = {"a": [{"b": 1}], "c": "word"}
    value = {"inner": 1}
    put(raw, ("a", 0, "x", "y"), value)
    put(raw, ("c", "d"), 2)
    value["inner"] = 9
    assert raw == {"a": [{"b": 1, "x": {"y": {"inner": 1}}}], "c": {"d": 2}}


def test_references_are_found_in_all_texts() -> None:
    raw = {"a": "$x", "b": ["{y}pkt", "{{no}}"], "c": {"d": "= z * 2"}, "e": 3, "f": "= )"}
    assert references(raw) == {"x", "y", "z"}


def test_a_place_is_named_by_names_ids_and_numbers() -> None:
    raw = {"a": [{"name": "n"}, {"id": "i"}, {"name": True}, 5, {"name": 3}]}
    paths = [("a", k, "x") for k in range(6)] + [("a", -1)]
    assert [dotted_key(raw, path) for path in paths] == [
        *("a.n.x", "a.i.x", "a.True.x", "a.4.x", "a.3.x", "a.6.x", "a.0")
    ]
    place = Place(raw, Path("f"), None, {"short": {"flows": [{}]}}, {("a", 0): ("short", "flows", 0)})
    assert place.written_path(("a", 0, "x")) == ("short", "flows", 0, "x")
    assert place.written_path(("b", 0)) == ("b", 0)
    # Of the short form, only what was written is named.
    assert place.error(("a", 0, "x"), "p").key == "short.flows.1"


def test_a_congestion_control_brings_its_own_knobs() -> None:
    def spelled(profile: str = "reno", **given: Any) -> dict[str, Any]:
        return spell_out(given, {"window_law": profile}, ("tcp",), {"mine": {"ecn": "x"}})

    assert spelled(cc="newreno") == {"window_law": "reno", "slow_start": "standard"}
    assert spelled(cc="ledbat++", initial_window=9) == {
        **{"window_law": "ledbat-plus-plus", "slow_start": "standard"},
        "initial_window": 9,
    }
    assert spelled(cc="dctcp")["ecn"] == "dctcp" and spelled(cc="prague")["ecn"] == "accecn-ect1"
    assert spelled(cc="ledbat")["initial_window"] == 2
    assert spelled(cc="mine") == {"window_law": "mine", "slow_start": "standard", "ecn": "x"}
    assert spelled("cubic", cc="cubic", sack=True) == {"sack": True}
    assert spelled("reno", cc="cubic") == {"window_law": "cubic", "slow_start": "standard"}
    assert spelled(sack=True) == {"sack": True}
    assert [default_ecn(law) for law in ("dctcp", "prague", "ledbat", "reno")] == [
        *("dctcp", "accecn-ect1", None, None)
    ]
    for given, key, problem in (
        (
            {"congestion_control": "reno"},
            "congestion_control",
            "there is no key 'congestion_control' any more",
        ),
        ({"cc": "reno", "window_law": "cubic"}, "cc", "`window_law` says this already"),
        ({"cc": "cubicc"}, "cc", "there is no congestion control 'cubicc'"),
    ):
        with pytest.raises(StudyError) as error:
            spelled(**given)
        assert (error.value.path, error.value.problem) == (("tcp", key), problem)
    assert congestion_control("newreno") == ("reno", None)
    with pytest.raises(StudyError, match="there is no congestion control 'renno'") as unknown:
        congestion_control("renno")
    assert unknown.value.key == "--cc" and str(unknown.value.right).startswith('did you mean "reno"?; one of')
    assert is_unknown({"cc": "x"}, []) and is_unknown({"window_law": "x"}, ["y"])
    assert not is_unknown({"cc": "x", "window_law": "newreno"}, ["x"]) and not is_unknown({"cc": 3}, [])


@pytest.mark.parametrize(
    ("raw", "listed"),
    [
        ({"parameters": {"a": [1], "b": 2}}, {"a": [1]}),
        ({"parameters": {"a": [1]}, "axes": {"a": {}}}, {}),
        ({"parameters": {"a": [1]}, "axes": 3}, {}),
        ({"parameters": {"a": [1]}, "grids": 3}, {}),
        ({"parameters": {"a": [1]}, "grids": [3]}, {}),
        ({"parameters": 3}, {}),
        ({}, {}),
    ],
)
def test_a_parameter_with_a_list_is_an_axis(raw: dict[str, Any], listed: dict[str, Any]) -> None:
    assert added_axes.listed_parameters(raw) == listed


def test_an_axis_is_added_to_every_grid() -> None:
    raw: dict[str, Any] = {
        "parameters": {"a": [1, 2], "b": 3},
        "grids": [{"axes": ["x"]}, {}, {"cells": [{"x": 1}, {"x": 2}]}],
    }
    added_axes.vary_parameters(raw, {"a": [1, 2]})
    assert raw == {
        "parameters": {"b": 3},
        "axes": {"a": {"values": [1, 2]}},
        "grids": [
            {"axes": ["x", "a"]},
            {"axes": ["a"]},
            {"cells": [{"x": 1, "a": 1}, {"x": 1, "a": 2}, {"x": 2, "a": 1}, {"x": 2, "a": 2}]},
        ],
    }


@pytest.mark.parametrize(
    ("names", "problem"),
    [
        ([], "[] does not fit"),
        (["6.12", 7], "['6.12', 7] does not fit"),
        (["6.12", "6.12"], "['6.12', '6.12'] does not fit"),
    ],
)
def test_a_list_of_kernels_has_different_names(names: list[Any], problem: str) -> None:
    with pytest.raises(StudyError) as error:
        added_axes.listed_kernels({"run": {"kernel": names}})
    assert error.value.problem == problem and error.value.path == ("run", "kernel")
    assert error.value.right == 'different names in quotes: ["6.12", "7.3"]'
    with pytest.raises(StudyError, match="an axis kernel is defined already"):
        added_axes.listed_kernels({"run": {"kernel": ["6.12"]}, "axes": {"kernel": {}}})
    assert added_axes.listed_kernels({"run": {"kernel": "6.12"}}) == []
    assert added_axes.listed_kernels({"run": {"kernel": ["6.12"]}, "tables": [3]}) == []


def test_phases_that_a_quantity_misspells_are_listed_or_asked_for() -> None:
    wrong = ('unit = "kbit/s"', 'unit = "kbit/s"\nwindow = "lat"')
    with pytest.raises(StudyError) as error:
        Study.from_toml(edited(wrong)).plan()
    assert error.value.right == "define it: [phases] …"
    with pytest.raises(StudyError) as error:
        Study.from_toml(edited(wrong, ("[probes]", '[phases]\nlate = ["0s", "50ms"]\n[probes]'))).plan()
    assert error.value.right == 'did you mean "late"?'


def test_only_a_file_that_is_too_large_is_reported_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a").write_text("x")

    def refuse(path: Path, most: int) -> bytes:
        raise OSError(errno.ENAMETOOLONG, "File name too long")

    monkeypatch.setattr(files, "read_plain", refuse)
    with pytest.raises(StudyError, match="the file cannot be read: File name too long"):
        files.read_text(tmp_path / "a", what="a text")


def test_several_rates_of_the_other_direction_are_in_mbit_per_s() -> None:
    full = Expanded({})
    given = {
        "rate": "50Mbps",
        "rtt": "40ms",
        "flows": [{"cc": "reno"}],
        "reverse": {"rate": ["5Mbps", "2Gbps"]},
    }
    NetworkForm(Dumbbell.model_validate(given), "dumbbell", full).write()
    assert full.raw["axes"] == {"reverse_rate": {"title": "reverse", "unit": "Mbit/s", "values": [5, 2000]}}
    assert full.raw["topology"]["links"][0]["reverse"] == {"rate": "{reverse_rate}Mbps"}
