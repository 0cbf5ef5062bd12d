"""packetdrill scripts from Python and from the command line: the first line that fails is named."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from cwndlab.cli import app
from cwndlab.errors import CwndlabError
from cwndlab.packetdrill import run_script

OPENS = """\
0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0 bind(3, ..., ...) = 0
+0 listen(3, 1) = 0
+0 < S 0:0(0) win 65535 <mss 1000,sackOK>
+0 > S. 0:0(0) ack 1 <mss 1460,nop,nop,sackOK>
+.1 < . 1:1(0) ack 1 win 65535
+0 accept(3, ..., ...) = 4
"""


def script(folder: Path, name: str, *lines: str) -> Path:
    path = folder / name
    path.write_text(OPENS + "\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_the_clock_and_the_tolerance_are_options(tmp_path: Path) -> None:
    sent = ["+0 write(4, ..., 4000) = 4000", "+0 > P. 1:4001(4000) ack 1"]
    timer = script(
        tmp_path, "timer.pkt", *sent, "+.1 < . 1:1(0) ack 1 win 65535 <sack 3001:4001,nop,nop>",
        "+.037 > . 1:1001(1000) ack 1",
    )  # fmt: skip
    assert not run_script(timer).passed and run_script(timer, tolerance_us=14_000).passed
    assert not run_script(timer, hz=0, tolerance_us=11_000).passed
    with pytest.raises(CwndlabError, match=r"rto\.timer_hz"):
        run_script(timer, hz=300)
    result = CliRunner().invoke(
        app, ["packetdrill", "--hz", "1000", "--tolerance-usecs", "14000", str(timer)]
    )
    assert result.exit_code == 0, result.stdout


def test_a_failing_line_is_named(tmp_path: Path) -> None:
    holds = script(tmp_path, "holds.pkt", "+0 write(4, ..., 1000) = 1000", "+0 > P. 1:1001(1000) ack 1")
    fails = script(tmp_path, "fails.pkt", "+0 write(4, ..., 1000) = 1000", "+0 > P. 1:1002(1001) ack 1")
    asks = script(tmp_path, "asks.pkt", "+0 epoll_create(1) = 5")
    assert run_script(holds).passed
    assert run_script(fails).line == 9
    assert "sequence numbers" in run_script(fails).message
    assert run_script(asks).unsupported
    result = CliRunner().invoke(app, ["packetdrill", str(holds), str(fails), str(asks)])
    assert result.exit_code == 1
    assert f"{fails}:9: sequence numbers" in result.stdout
    assert "1 passed, 1 failed, 1 not supported" in result.stdout


def test_what_cannot_be_read_or_found_is_the_callers_to_mend(tmp_path: Path) -> None:
    with pytest.raises(CwndlabError, match="cannot be read"):
        run_script(tmp_path / "none.pkt")
    with pytest.raises(CwndlabError, match="there are ns2-1998, rfc5681, linux-6"):
        run_script(script(tmp_path, "any.pkt"), profile="linux-7")
