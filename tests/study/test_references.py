"""What braces in a study's texts refer to: parameters and axes, and in a program its hosts too."""

from __future__ import annotations

import json

import pytest

from cwndlab.api import Study
from cwndlab.base.errors import StudyError, nearest
from small_study import edited


def program(keys: str) -> str:
    return edited(('app = { kind = "bulk" }', f'app = {{ kind = "program", {keys} }}'))


def test_hosts_are_known_everywhere_within_a_program() -> None:
    study = Study.from_toml(program('client = "ask {server} -n {webs}", environment = { PEER = "{client}" }'))
    app = json.loads(study.plan().cells[0].scenario)["traffic"][0]["app"]
    assert (app["client"], app["environment"]) == ("ask {server} -n 2", {"PEER": "{client}"})


@pytest.mark.parametrize(
    ("keys", "path", "name"),
    [
        ('client = "ask {servr}"', "client", "servr"),
        ('client = "ask", environment = { PEER = "{servr}" }', "environment.PEER", "servr"),
        ('client = "ask", environment = { PEER = "$server" }', "environment.PEER", "server"),
    ],
)
def test_another_name_within_a_program_is_an_error_with_its_place(keys: str, path: str, name: str) -> None:
    with pytest.raises(StudyError, match=f'"{name}" is neither a parameter nor an axis') as caught:
        Study.from_toml(program(keys))
    assert caught.value.key == f"traffic.bulk.app.{path}"


def test_names_without_an_order_are_listed_in_the_same_order_by_every_process() -> None:
    assert nearest("zzz", set("fbdace")) == nearest("zzz", frozenset("dacfbe")) == "known: a, b, c, d, e, f"
    assert nearest("zzz", ["b", "a"]) == "known: b, a"


@pytest.mark.parametrize(
    ("old", "new", "key"),
    [
        ('name = "bulk"', 'name = "to {server}"', "traffic.to {server}.name"),
        ('kind = "bulk"', 'kind = "bulk", from = "{server}"', "traffic.bulk.app.from"),
        ('limit = "25pkt"', 'limit = "{server}pkt"', "topology.links.wire.queue.limit"),
    ],
)
def test_hosts_are_no_names_outside_of_a_program(old: str, new: str, key: str) -> None:
    with pytest.raises(
        StudyError, match='"server" is neither a parameter nor an axis; known: iw, webs'
    ) as caught:
        Study.from_toml(edited((old, new)))
    assert caught.value.key == key
