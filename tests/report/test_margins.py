"""The report's rule names the plain margin first, then others with the quantities that have them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import synthetic
from cwndlab.report.contents import Outputs
from cwndlab.study.outputs import Margin, Table

TABLE = {
    "id": "t1",
    "title": "T",
    "rows": ["webs", "ftps"],
    "published": "t.csv",
    "columns": [
        {"heading": f"IW={iw}", "quantity": quantity, "where": {"iw": iw}, "published": f"iw{iw}"}
        for quantity in ("page_delay", "power")
        for iw in (1, 2)
    ],
}


@pytest.mark.parametrize(
    ("margins", "words"),
    [
        ({}, "10 % of it"),
        ({"page_delay": Margin(absolute=0.2)}, "10 % of it; 0.2 s for page delay"),
        (
            {"page_delay": Margin(absolute=0.2), "power": Margin(relative=0.05)},
            "10 % of it; 0.2 s for page delay; 5 % of it for power",
        ),
        (
            dict.fromkeys(("page_delay", "power"), Margin(relative=0.2)),
            "10 % of it; 20 % of it for page delay, power",
        ),
    ],
)
def test_each_margin_is_named_once_with_its_quantities(
    tmp_path: Path, margins: dict[str, Margin], words: str
) -> None:
    (tmp_path / "t.csv").write_text("webs,ftps,iw1,iw2\n8,0,0.56,0.5\n16,1,1.04,0.9\n")
    made = synthetic.rfc2415()
    quantities = {
        name: info._replace(margin=margins.get(name)) for name, info in made.labels.quantities.items()
    }
    results = replace(made, labels=replace(made.labels, quantities=quantities))
    outputs = Outputs("A study", tmp_path, tables=[Table.model_validate(TABLE)])
    (_, agrees), *_ = synthetic.report(outputs, results, tmp_path).rule
    assert f"({words}; never less" in agrees
