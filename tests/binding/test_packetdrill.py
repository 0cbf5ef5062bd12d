"""packetdrill scripts from Python and from the command line: the first line that fails is named."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from cwndlab.apps.packetdrill.packetdrill_scripts import find_scripts, markdown, run_script
from cwndlab.base.errors import CwndlabError
from cwndlab.cli.registry import command_line

APP = command_line()

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
        APP, ["packetdrill", "--hz", "1000", "--tolerance-usecs", "14000", str(timer)]
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
    result = CliRunner().invoke(APP, ["packetdrill", str(holds), str(fails), str(asks)])
    assert result.exit_code == 1
    assert f"{fails}:9: sequence numbers" in result.stdout
    assert "1 passed, 1 failed, 1 not supported" in result.stdout


def test_what_cannot_be_read_or_found_is_the_callers_to_mend(tmp_path: Path) -> None:
    with pytest.raises(CwndlabError, match="cannot be read"):
        run_script(tmp_path / "none.pkt")
    with pytest.raises(CwndlabError, match=r"there are ns2-1998, rfc5681, linux-2\.0, linux-2\.2, linux-6"):
        run_script(script(tmp_path, "any.pkt"), profile="linux-7")


def test_a_failure_shows_the_events_before_it(tmp_path: Path) -> None:
    fails = script(tmp_path, "fails.pkt", "+0 write(4, ..., 1000) = 1000", "+0 > P. 1:1002(1001) ack 1")
    assert run_script(fails).before[-1] == "0.100000 s write(4, ..., 1000) = 1000"
    result = CliRunner().invoke(APP, ["packetdrill", str(fails)])
    assert "\n    0.100000 s write(4, ..., 1000) = 1000\n" in result.stdout


def test_a_directory_is_counted_by_folder_with_every_reason(tmp_path: Path) -> None:
    for folder in ("loss/deep", "open"):
        (tmp_path / folder).mkdir(parents=True)
    script(tmp_path / "loss/deep", "fails.pkt", "+0 write(4, ..., 9) = 9", "+0 > . 1:9(8) ack 1 <sackOK>")
    script(tmp_path / "loss", "asks.pkt", "+0 epoll_create(1) = 5")
    script(tmp_path / "loss", "asks-too.pkt", "+0 epoll_create(1) = 6")
    script(tmp_path / "open", "holds.pkt", "+0 close(4) = 0")
    outcomes = [run_script(path) for path in find_scripts([tmp_path])]
    table = markdown(outcomes, tmp_path)
    assert "| loss | 0 | 1 | 2 | 3 |\n| open | 1 | 0 | 0 | 1 |\n| all | 1 | 1 | 2 | 4 |" in table
    assert "| loss/deep/fails.pkt | 9 | sequence numbers: expected . 1:9(8) ack 1 &lt;sackOK>" in table
    assert '| loss | system call "epoll_create" | 2 |' in table
    result = CliRunner().invoke(APP, ["packetdrill", "--table", str(tmp_path)])
    assert result.stdout.strip() == table
    (tmp_path / "empty").mkdir()
    with pytest.raises(CwndlabError, match="has no scripts"):
        list(find_scripts([tmp_path / "empty"]))


def test_windows_can_be_left_out(tmp_path: Path) -> None:
    window = script(tmp_path, "window.pkt", "+0 write(4, ..., 9) = 9", "+0 > P. 1:10(9) ack 1 win 5")
    assert run_script(window).failed and run_script(window, ignore_windows=True).passed
