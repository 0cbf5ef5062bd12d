"""RFC 2415's models compared with its tables: `python -m validation.models`.

Each model gets the verdicts of the study: the reconstructed one, that of the authors' code, and both with
values of the authors' example script in ns-2.35 (`tcl/ex/redlight.tcl`) that contradict the memo. The command
prints two tables, with ten runs for each cell; `--write` puts them into docs/evidence/rfc2415-findings.md.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path

import cwndlab
from cwndlab.api import Study
from cwndlab.report.contents import collect_outputs
from cwndlab.report.judge import Judged, judge

from .discriminate import HEAD, REPLICATES, Changes, Memo, Outcome
from .overload import PAGE
from .page import replace_part, table_row

BEGIN, END = "<!-- begin: python -m validation.models -->", "<!-- end: models -->"
CELLS: Changes = {"grid": ["tables_1_to_3", "tables_4_and_5", "table_6"]}

_DELAYS: Changes = {
    "topology.links.bottleneck.delay": "25ms",
    "topology.links.servers.delay": "25ms",
    "topology.links.clients.delay": "1ms",
}
_RED: Changes = {
    "topology.links.bottleneck.queue": {
        "kind": "red",
        "limit": "25pkt",
        "min_th": 4.0,
        "max_th": 17.0,
        "max_p": 0.1,
        "w_q": 1 / 16,
    }
}


def _window(packets: int) -> Changes:
    return {"tcp.max_window": f"{packets}pkt", "tcp.initial_ssthresh_segments": packets}


def authors() -> Changes:
    """The changes of the model `authors`, from the study's axis."""
    [found] = [
        value for value in Study.load("rfc2415").raw["axes"]["model"]["values"] if value["name"] == "authors"
    ]
    return dict(found["set"])


#: Values of the script that contradict the memo.
SCRIPT: dict[str, Changes] = {
    "delays of the script (25, 25, 1 ms)": _DELAYS,
    "maximum window of 26 packets": _window(26),
    "maximum window of 52 packets": _window(52),
    "RED 4/17, weight 1/16": _RED,
    "delays and window of 52": {**_DELAYS, **_window(52)},
}


def models() -> dict[str, Changes]:
    """The changes of all models, by title."""
    found: dict[str, Changes] = {"`reconstructed`": {}, "`authors`": authors()}
    return found | {
        f"{model}, {title}": {**found[model], **SCRIPT[title]} for model in found for title in SCRIPT
    }


def judged(changes: Changes, replicates: int = REPLICATES) -> Judged:
    """A model's numbers in the six tables, with their verdicts."""
    study = Study.load("rfc2415")
    result = cwndlab.run("rfc2415", changes={**CELLS, **changes}, replicates=replicates)
    return judge(collect_outputs(result.study, study.folder or Path()), result.results)


def counts(title: str, model: Judged) -> str:
    """The row of the first table, in the format of `discriminate`."""
    verdicts = Counter(judgement.verdict for judgement in model.judgements)
    claims = Counter(claim.verdict for claim in model.claims)
    memo = Memo("rfc2415", "RFC 2415, Tables 1 to 6", CELLS, {})
    return table_row(Outcome(memo, title, verdicts, model.incompatible, claims).row())


def by_load(title: str, model: Judged) -> list[str]:
    """Where a model deviates: incompatible numbers by table and number of web clients, and the mean gains."""
    lines: list[str] = []
    for table in model.grids:
        if not table.id.startswith("table") or len(table.spec.rows) != 2:
            continue
        found: defaultdict[int, list[bool]] = defaultdict(list)
        gains: defaultdict[int, list[tuple[float, float]]] = defaultdict(list)
        for cell in table.numbers:
            webs = int(cell.row[0]) if table.spec.rows[0] == "webs" else int(cell.row[0]) + int(cell.row[1])
            if cell.judgement is not None and cell.judgement.counts:
                found[webs].append(not cell.judgement.compatible)
            if (
                cell.published is not None
                and cell.estimate is not None
                and cell.quantity.startswith("decrease")
            ):
                gains[webs].append((cell.published.value, cell.estimate.value))
        shares = [f"{sum(found[webs])} of {len(found[webs])}" if webs in found else "" for webs in LOADS]
        lines.append(table_row([title, f"{table.id}: incompatible", *shares]))
        if gains:
            means = [_means(gains[webs]) if webs in gains else "" for webs in LOADS]
            lines.append(table_row([title, f"{table.id}: mean decrease, memo; model", *means]))
    return lines


LOADS = (8, 16, 32, 64)


def _means(gains: Sequence[tuple[float, float]]) -> str:
    memo, model = (sum(values) / len(gains) for values in zip(*gains, strict=True))
    return f"{memo:.1f}; {model:.1f} %"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print both tables, and write them if requested."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--replicates", type=int, default=REPLICATES)
    parser.add_argument("--write", action="store_true", help=f"put the tables into {PAGE.name}")
    asked = parser.parse_args(arguments)
    all_counts = [table_row(HEAD), "|---|" + "---:|" * (len(HEAD) - 1)]
    loads = [
        table_row(["model", "table", *(f"{webs} webs" for webs in LOADS)]),
        "|---|---|" + "---:|" * len(LOADS),
    ]
    for title, changes in models().items():
        model = judged(changes, asked.replicates)
        all_counts.append(counts(title, model))
        print(all_counts[-1], file=sys.stderr, flush=True)
        if "," not in title:
            loads += by_load(title, model)
            print(*loads, sep="\n", file=sys.stderr, flush=True)
    text = "\n".join([*all_counts, "", *loads])
    print(text)
    if asked.write:
        replace_part(PAGE, BEGIN, END, text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
