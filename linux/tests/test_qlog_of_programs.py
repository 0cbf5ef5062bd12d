"""What kept programs of datagrams from sending: by their qlog, next to our packets, in one run."""

from __future__ import annotations

from pathlib import Path

import pytest
from program_runs import MEASURES, NETWORK, entry, needs

import cwndlab
from cwndlab.apps.diagnosis.explanation import explain_run
from cwndlab.cli.arguments import load, one_cell
from cwndlab.runs.run_options import RunOptions

#: Sends 3 datagrams, and after 0.5 s 40 more, of which the last 20 are not in its log; 3 are said to be lost.
SENDER = """
import json, os, socket, sys, time
own = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
start = time.monotonic()
log = []
def add(name, **data):
    log.append({"time": (time.monotonic() - start) * 1e3, "name": name, "data": data})
def send(number, logged=True):
    own.sendto(bytes(1200), (sys.argv[1], 4433))
    if logged:
        frames = [{"frame_type": "stream", "stream_id": 0, "offset": 1100 * number, "length": 1100}]
        header = {"packet_type": "1RTT", "packet_number": number}
        add("transport:packet_sent", header=header, raw={"length": 1200}, frames=frames)
for number in range(3):
    send(number)
add("recovery:congestion_state_updated", new="application_limited")
ack = {"frame_type": "ack", "acked_ranges": [[0, 2]]}
add("transport:packet_received", header={"packet_type": "1RTT"}, frames=[ack])
time.sleep(0.2)
for number in range(20):
    send(3, logged=False)
time.sleep(0.3)
for number in range(3, 23):
    send(number)
for number in range(3, 6):
    add("recovery:packet_lost", header={"packet_type": "1RTT", "packet_number": number})
if os.environ.get("QLOGDIR"):
    with open(os.environ["QLOGDIR"] + "/sender.sqlog", "w") as file:
        head = {"qlog_version": "0.3", "trace": {"vantage_point": {"type": "client"}}}
        for one in [head, *log]:
            file.write("\\x1e" + json.dumps(one) + "\\n")
"""
RECEIVER = """
import socket
own = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
own.bind(("", 4433))
while True:
    own.recv(2000)
"""


def explain(folder: Path, environment: str = "", **options: int) -> cwndlab.Diagnosis:
    needs("python3")
    (folder / "files").mkdir()
    (folder / "files" / "sender.py").write_text(SENDER)
    (folder / "files" / "receiver.py").write_text(RECEIVER)
    app = 'kind = "program", client = "python3 {folder}/files/sender.py {{server}}"'
    app = app.replace("{folder}", str(folder)).replace("{{server}}", "{server}")
    app += f', server = "python3 {folder}/files/receiver.py"{environment}'
    (folder / "study.toml").write_text(
        NETWORK.replace("6s", "2s") + entry(app) + MEASURES.replace('["1s", "5s"]', '["0s", "2s"]')
    )
    options_of_run = RunOptions(backend="linux-virtual", stack="linux-laws")
    source = one_cell(load(str(folder / "study.toml"), [], None, cc=None, metrics=None), options_of_run)
    return explain_run(source, source.cell.id, options.get("replicate", 0), "x", None, 5)


@pytest.mark.usefixtures("virtual")
@pytest.mark.parametrize("replicate", [0, 1])
def test_a_programs_qlog_is_asked_for_and_compared_with_our_packets(tmp_path: Path, replicate: int) -> None:
    found = explain(tmp_path, replicate=replicate)
    assert found.notes[:2] == (
        "the stack declared 3 packets lost; links dropped 0 of its datagrams",
        "in 1 wait of the log, datagrams of it left that the log does not have",
    )
    [one] = found.summaries
    assert one.conversation == "x, connection 0, client" and one.segments == 23
    [wait] = [wait for wait in found.waits if wait.cause == "application"]
    assert wait.certain and wait.end_s - wait.start_s == pytest.approx(0.5, abs=0.01)
    assert 'the stack: state "application_limited"' in wait.steps[0].text


@pytest.mark.usefixtures("virtual")
def test_without_qlog_nothing_is_said_of_waits_and_no_window_is_called_closed(tmp_path: Path) -> None:
    found = explain(tmp_path, ', environment = { QLOGDIR = "" }')
    assert not found.waits_known and found.waited_s == {}
    assert found.notes[0].startswith("the program at the sender wrote no qlog")
    assert str(found.summaries[0]).endswith("0 % of 43 datagrams dropped by links.")
