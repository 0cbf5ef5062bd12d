"""The guide lists what there is."""

from __future__ import annotations

from pathlib import Path

import pytest

from cwndlab.apps.policy import ACTIONS, FEATURES

DOCS = Path(__file__).parents[2] / "docs"
GUIDE = (DOCS / "guide/gym.md").read_text() + (DOCS / "reference/gym.md").read_text()


@pytest.mark.parametrize("name", [*FEATURES, *ACTIONS])
def test_the_guide_has_every_feature_and_action_with_its_meaning(name: str) -> None:
    meaning = (FEATURES.get(name) or ACTIONS[name]).meaning
    assert f"| `{name}` | {meaning} |\n" in GUIDE


def test_the_guide_has_every_reward() -> None:
    pytest.importorskip("gymnasium")
    from cwndlab.apps.gym import REWARDS

    for name in REWARDS:
        assert f"| `{name}` | " in GUIDE
