"""CAKE and FQ-PIE in a study: hosts, buffers and ACKs as the simulator knows them."""

from __future__ import annotations

from typing import Any

from cwndlab import Study

RUN = '[run]\nduration = "8s"\nwarmup = "2s"\nseed = 1\n'
HEAD = f'title = "t"\nmeasure = ["goodput"]\n{RUN}[dumbbell]\nrtt = "20ms"\n'
LINE = 'rate = "100Mbps"\n'
CAKE = '{ kind = "cake", rate = "12Mbps"'


def measured(text: str) -> dict[str, float]:
    rows = Study.from_toml(HEAD + text).run().estimates.to_arrow().to_pylist()
    return {row["quantity"]: row["value"] for row in rows}


def queue_of(text: str) -> Any:
    flows = 'flows = [{ cc = "cubic" }]\n'
    return Study.from_toml(HEAD + LINE + text + flows).plan().cells[0].compiled.scenario["links"][0]["queue"]


def test_sources_share_equally_whatever_the_number_of_their_flows() -> None:
    flows = 'flows = [{ name = "many", cc = "cubic", count = 3 }, { name = "one", cc = "cubic" }]\n'
    shared = measured(f'{LINE}queue = {CAKE}, isolation = "dual-srchost" }}\n{flows}')
    apart = measured(f'{LINE}queue = {CAKE}, isolation = "flows" }}\n{flows}')
    total = sum(shared.values())
    assert 10.5 < total < 12
    assert abs(shared["goodput_one"] / total - 0.5) < 0.05
    assert abs(apart["goodput_one"] / sum(apart.values()) - 0.25) < 0.05


def test_filtered_acks_let_a_download_pass_a_slow_uplink() -> None:
    flows = 'flows = [{ cc = "cubic", start = "0s" }]\n'
    way = 'rate = "50Mbps"\nreverse = { rate = "300kbps", queue = { kind = "cake", ack_filter = "%s" } }\n'
    plain, filtered = (measured(way % choice + flows)["goodput"] for choice in ("off", "on"))
    assert filtered > 1.5 * plain


def test_cake_has_memory_of_its_own_unless_a_buffer_is_given() -> None:
    assert queue_of('queue = "cake"\n') == {"kind": "cake"}
    assert queue_of('queue = "cake"\nbuffer = "100pkt"\n') == {"kind": "cake", "memory_bytes": 230_400}
    one_bdp = 12e6 * 0.02 / 8
    packets = -(-one_bdp // 1500)
    assert queue_of(f"queue = {CAKE} }}\nbuffer = 1\n")["memory_bytes"] == packets * 2304


def test_traffic_gets_its_tin_by_its_name() -> None:
    flows = (
        'flows = [{ name = "call", app = { kind = "cbr", rate = "500kbps", packet = "500B" } }, '
        '{ name = "bulk", cc = "cubic", count = 20 }]\n'
    )
    head = HEAD.replace('["goodput"]', '["one_way_delay"]')
    delays = []
    for point in ("", ', codepoints = [{ dscp = 46, traffic = ["call"] }]'):
        text = f'{head}{LINE}queue = {CAKE}, isolation = "flowblind"{point} }}\n{flows}'
        rows = Study.from_toml(text).run().estimates.to_arrow().to_pylist()
        delays.append(next(row["value"] for row in rows if "call" in row["quantity"]))
    assert delays[1] < delays[0] / 2, delays
