"""A chart in a notebook: every panel has a name by which it is moved and zoomed."""

from __future__ import annotations

from cwndlab.apps.notebook.altair_charts import interactive_chart

LAYER = {"mark": "point", "encoding": {"x": {"field": "x", "type": "quantitative"}}}


def names(chart: dict[str, object]) -> list[str]:
    """The names of views in the chart that is shown."""
    made = interactive_chart({"data": {"name": "d"}, **chart}, {"d": [{"x": 1}]}, "T").to_dict()
    panels = made.get("concat", [made])
    return [panel["layer"][0]["name"] if "layer" in panel else panel["name"] for panel in panels]


def test_each_panel_has_a_name_of_its_own() -> None:
    assert names(LAYER) == ["view0"]
    assert names({"layer": [LAYER, LAYER]}) == ["view0"]
    assert names({"concat": [LAYER, {"layer": [LAYER, LAYER]}]}) == ["view0", "view1"]
