"""`[leaf_spine]`: the fabric that it expands to, who sends to whom, and paths over all spines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cwndlab.api import Study
from cwndlab.base.errors import StudyError
from cwndlab.runs.backend_check import check_backend
from cwndlab.runs.run_options import RunOptions

FABRIC = """\
title = "a fabric"
measure = ["completion_time"]

[leaf_spine]
leaves = 3
spines = 2
hosts = 2
rate = "1Gbps"
uplink_rate = "4Gbps"
rtt = "80us"
buffer = "50pkt"
flows = [{ name = "transfer", cc = "cubic", bytes = "100kB" }]

[run]
duration = "1s"
replicates = 2
"""


def raw(text: str) -> dict[str, Any]:
    return dict(Study.from_toml(text).raw)


def changed(old: str, new: str) -> str:
    assert old in FABRIC
    return FABRIC.replace(old, new)


def pairs(pattern: str) -> list[tuple[str, str]]:
    (entry,) = raw(changed('cc = "cubic"', f'cc = "cubic", pattern = "{pattern}"'))["traffic"]
    return list(zip(entry["client"], entry["server"], strict=True))


def test_each_leaf_has_its_hosts_and_a_link_to_each_spine() -> None:
    topology = raw(FABRIC)["topology"]
    assert topology["ecmp"] is True and topology["rtt"] == "80us"
    links = {link["name"]: link for link in topology["links"]}
    assert len(links) == 6 + 3 * 2 and len(topology["nodes"]) == 6 + 3 + 2
    assert links["host3_link"]["between"] == ["host3", "leaf2"]
    assert links["leaf3_spine1"]["between"] == ["leaf3", "spine1"]
    assert {link["delay"] for link in links.values()} == {"10us"}  # an eighth of the round trip
    assert (links["host3_link"]["rate"], links["leaf3_spine1"]["rate"]) == ("1Gbps", "4Gbps")


def test_switches_have_queues_and_hosts_have_none() -> None:
    queue = {"kind": "drop-tail", "limit": "50pkt"}
    links = {link["name"]: link for link in raw(FABRIC)["topology"]["links"]}
    uplink, host = links["leaf1_spine2"], links["host1_link"]
    assert uplink["forward"]["queue"] == uplink["reverse"]["queue"] == host["reverse"]["queue"] == queue
    assert host["forward"] == {"impairments": [{"kind": "jitter", "max": "100us", "keep_order": True}]}


def test_patterns_say_who_sends_to_whom() -> None:
    hosts = [f"host{k}" for k in range(1, 7)]
    permutation = pairs("permutation")
    assert [a for a, _ in permutation] == hosts == sorted(b for _, b in permutation)
    assert permutation[0] == ("host1", "host3") and permutation[5] == ("host6", "host2")  # on the next leaf
    assert sorted(pairs("shuffle")) == [(a, b) for a in hosts for b in hosts if a != b]
    assert pairs("incast") == [(host, "host1") for host in hosts[1:]]


def test_count_is_that_of_each_pair_and_a_server_that_answers_is_the_sender() -> None:
    (entry,) = raw(changed('bytes = "100kB"', 'bytes = "100kB", count = 3'))["traffic"]
    assert entry["count"] == 18
    web = 'app = { kind = "rr", request = "100B", response = "1kB" }, pattern = "incast"'
    (entry,) = raw(changed('bytes = "100kB"', web))["traffic"]
    assert entry["client"] == ["host1"] * 5 and entry["server"][0] == "host2"


def test_lists_are_axes_of_all_queues() -> None:
    text = changed('buffer = "50pkt"', 'buffer = "50pkt"\nqueue = ["drop-tail", "codel"]')
    study = Study.from_toml(text.replace('cc = "cubic"', 'cc = ["cubic", "dctcp"]'))
    cells = {cell.id: cell.compiled.scenario for cell in study.plan().cells}
    assert len(cells) == 4
    for name, scenario in cells.items():
        kinds = [link["queue"]["kind"] for link in scenario["links"]]
        assert kinds.count("codel" if "codel" in name else "drop-tail") == 6 + 2 * 6, name


def test_lists_of_rates_and_round_trips_are_axes() -> None:
    text = changed('rtt = "80us"', 'rtt = ["80us", "0.8ms"]').replace('"4Gbps"', '["1Gbps", "4Gbps"]')
    cells = [cell.compiled.scenario for cell in Study.from_toml(text).plan().cells]
    seen = [(cell["links"][-1]["rate_bps"], cell["links"][-1]["delay_ns"]) for cell in cells]
    assert sorted(seen) == [(10**9, 10_000), (10**9, 100_000), (4 * 10**9, 10_000), (4 * 10**9, 100_000)]
    assert {link["rate_bps"] for cell in cells for link in cell["links"][:12]} == {10**9}


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('rtt = "80us"', 'rtt = "80us"\nreverse = { rate = "1Mbps" }', "leaf_spine.reverse: a fabric has no"),
        (
            'rtt = "80us"',
            'rtt = { at = { "0s" = "1ms" } }',
            "leaf_spine.rtt: links of a fabric do not change",
        ),
        ('rate = "1Gbps"', 'rate = { trace = "x" }', "leaf_spine.rate: links of a fabric do not change"),
        ('cc = "cubic"', 'cc = "cubic", rtt = "1ms"', "leaf_spine.flows.transfer.rtt: flows of a fabric"),
        ('cc = "cubic"', 'cc = "cubic", count = [1, 2]', "transfer.count: a fabric multiplies it"),
        ('cc = "cubic"', 'cc = "cubic", pattern = "ring"', "pattern"),
        ("leaves = 3", "leaves = 1", "leaves"),
        ("leaves = 3", "leafs = 3", "leafs"),
    ],
)
def test_what_a_fabric_cannot_have_is_refused_where_it_stands(old: str, new: str, said: str) -> None:
    with pytest.raises(StudyError) as caught:
        Study.from_toml(changed(old, new)).plan().check()
    assert said in str(caught.value), caught.value


def test_a_kernel_takes_one_path() -> None:
    plan = Study.from_toml(FABRIC).plan()
    with pytest.raises(StudyError, match=r"one path; run the simulator"):
        check_backend(plan, RunOptions(backend="linux-virtual"))


def test_connections_use_all_spines_and_the_same_ones_again(tmp_path: Path) -> None:
    measured = "".join(
        f'[[quantities]]\nname = "s{k}"\nmetric = "link_utilization"\n'
        f'options = {{ link = "leaf1>spine{k}" }}\n'
        for k in (1, 2)
    )
    text = changed('bytes = "100kB"', 'bytes = "100kB", count = 20')
    study = Study.from_toml(text + measured)
    first, again = study.run(tmp_path / "a"), study.run(tmp_path / "b")
    used = [first.estimate(f"s{k}").value for k in (1, 2)]
    assert min(used) > 0.2 * sum(used)  # of 40 connections, 20 each on average
    assert [again.estimate(f"s{k}").value for k in (1, 2)] == used
    one_path = Study.from_toml(text + measured).set({"topology.ecmp": False}).run(tmp_path / "c")
    assert one_path.estimate("s2").value == 0 < one_path.estimate("s1").value
