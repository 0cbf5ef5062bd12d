"""Errors of first studies say at once all that is wrong, where, and what would be right."""

from __future__ import annotations

import pickle
import tomllib
from pathlib import Path

import pytest

from cwndlab.api import Study
from cwndlab.apps.check.command import check
from cwndlab.base.errors import StudyError
from cwndlab.cli.arguments import parse_changes
from cwndlab.study.congestion import UnknownLawError, spell_out
from cwndlab.study.place import Place

HEAD = 'title = "x"\nmeasure = ["goodput"]\n[run]\nduration = "1s"\n[dumbbell]\nrate = "20Mbps"\n'
RTT = 'rtt = "40ms"\n'


def error_of(text: str) -> str:
    with pytest.raises(StudyError) as caught:
        Study.from_toml(text).plan().check()
    return str(caught.value)


def test_data_from_the_server_of_a_dumbbell_is_refused() -> None:
    for kind in ("bulk", "short-flows"):
        flows = f'flows = [{{ name = "up", cc = "cubic", app = {{ kind = "{kind}", from = "server" }} }}]'
        found = error_of(HEAD + RTT + flows)
        assert "dumbbell.flows.up.app.from: here it would only say who opens the connection" in found
        assert 'write direction = "reverse"' in found


@pytest.mark.parametrize(
    ("flow", "expected"),
    [
        (
            'app = { kind = "web" }',
            "web needs `protocol`, `object`, `request`, `think`, `clock` and `inline_trigger`",
        ),
        (
            'app = { kind = "web", protocol = "http/1.1", clock = "request" }',
            "web needs `object`, `request`, `think`",
        ),
        ('app = { kind = "ftp" }', "ftp needs `file`"),
    ],
)
def test_all_missing_keys_of_an_application_are_named_at_once(flow: str, expected: str) -> None:
    assert expected in error_of(f'{HEAD}{RTT}flows = [{{ name = "a", {flow} }}]')


def test_all_missing_keys_of_a_queue_and_an_impairment_are_named_at_once() -> None:
    assert "linux-red needs `min_th`, `max_th`, `burst` and `mean_packet`" in error_of(
        f'{HEAD}{RTT}queue = "linux-red"\nflows = [{{ cc = "cubic" }}]'
    )
    policer = {"topology.links.bottleneck.forward.impairments": [{"kind": "policer"}]}
    with pytest.raises(StudyError, match="policer needs `rate` and `burst`"):
        Study.from_toml(f'{HEAD}{RTT}flows = [{{ cc = "cubic" }}]').set(policer).plan().check()


def test_an_axis_that_sets_a_key_of_a_short_form_is_told_the_key_that_it_can_set() -> None:
    flows = 'flows = [{ cc = "cubic" }]\n'
    axis = '[axes.q]\nvalues = [{ name = "a", set = { "dumbbell.queue" = "codel" } }]\n'
    found = error_of(HEAD + RTT + flows + axis)
    assert '"dumbbell.queue" is a key of the short form' in found
    assert "write topology.links.bottleneck.forward.queue" in found


def test_hosts_links_are_never_faster_than_links_can_be() -> None:
    study = Study.from_toml(f'{HEAD.replace("20Mbps", "400Gbps")}{RTT}flows = [{{ cc = "cubic" }}]')
    study.plan().check()
    rates = [link["rate_bps"] for link in study.plan().cells[0].compiled.scenario["links"]]
    assert max(rates) == 400_000_000_000


def test_a_round_trip_that_tcp_cannot_measure_is_an_error_of_its_key() -> None:
    for rtt, flow, key in (("1h", "", "dumbbell.rtt"), ("1ms", ', rtt = "36min"', "dumbbell.flows.1.rtt")):
        found = error_of(f'{HEAD}rtt = "{rtt}"\nflows = [{{ cc = "cubic"{flow} }}]')
        assert f"{key}: a round trip of" in found and "at most 35 min" in found
    Study.from_toml(
        f'{HEAD}rtt = "1h"\nflows = [{{ app = {{ kind = "cbr", rate = "1Mbps" }} }}]'
    ).plan().check()


def test_an_unknown_key_brings_no_error_about_a_law_that_may_still_be_defined() -> None:
    found = error_of(f'{HEAD}{RTT}nonsense = 1\nflows = [{{ cc = "gentle" }}]')
    assert "nonsense" in found and "gentle" not in found


def test_check_fails_where_run_would(tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    path.write_text(f'{HEAD}{RTT}flows = [{{ cc = "bbr" }}]')
    with pytest.raises(StudyError, match="write bbr1 or bbr3"):
        check(str(path))


def test_a_law_of_the_kernels_is_no_error_with_a_kernel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = tmp_path / "cwndlab" / "uml" / "6.12-0"
    kernel.mkdir(parents=True)
    (kernel / "linux").touch()
    (kernel / "about.json").write_text('{"congestion_controls": ["bbr"]}')
    path = tmp_path / "study.toml"
    path.write_text(f'{HEAD}{RTT}flows = [{{ cc = "bbr" }}]')
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    check(str(path), backend="linux")


@pytest.mark.parametrize(
    ("option", "expected"),
    [
        ("iw=1,4", {"iw": "1,4"}),
        ("variant=sack,iw=1,4", {"variant": "sack", "iw": "1,4"}),
        (
            'a.b=[{kind="policer",rate="5Mbps",burst="30kB"}]',
            {"a.b": '[{kind="policer",rate="5Mbps",burst="30kB"}]'},
        ),
        ('a.b={kind="red",x=1},iw=4', {"a.b": '{kind="red",x=1}', "iw": "4"}),
        ('a.b="x,y=[",iw=4', {"a.b": '"x,y=["', "iw": "4"}),
    ],
)
def test_a_comma_inside_brackets_belongs_to_the_value(option: str, expected: dict[str, str]) -> None:
    assert parse_changes([option]) == expected


def test_an_unknown_law_is_told_by_its_type_in_every_form() -> None:
    """`--cc` may define a name that is like none that is known; a misspelt one is an error."""
    group = {"cc": "xqzw"}
    with pytest.raises(UnknownLawError, match="there is no congestion control 'xqzw'") as caught:
        spell_out(group, {"window_law": "reno"}, ("tcp",))
    located = place_of_text('[tcp]\ncc = "xqzw"\n').locate(caught.value)
    assert isinstance(located, UnknownLawError) and located.line == 2
    assert isinstance(pickle.loads(pickle.dumps(located)), UnknownLawError)
    with pytest.raises(StudyError, match='did you mean "cubic"') as near:
        spell_out({"cc": "cubci"}, {"window_law": "reno"}, ("tcp",))
    assert not isinstance(near.value, UnknownLawError)


def place_of_text(text: str) -> Place:
    return Place(tomllib.loads(text), None, text)
