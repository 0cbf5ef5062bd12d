"""Modules that users import and that have moved."""

from __future__ import annotations

import importlib

import pytest

from cwndlab.base.importing import MOVED


@pytest.mark.parametrize("name", MOVED)
def test_the_old_name_of_a_module_says_the_new_one(name: str) -> None:
    with pytest.raises(ModuleNotFoundError, match=rf"{name} has moved; import {MOVED[name]}$"):
        importlib.import_module(name)
    importlib.import_module(MOVED[name])


def test_other_names_are_as_unknown_as_ever() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"^No module named 'cwndlab.gyms'$"):
        importlib.import_module("cwndlab.gyms")
