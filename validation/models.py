"""RFC 2415's models next to its tables: `python -m validation.models`.

Each model goes through the verdicts of the study: the reconstructed one, that of the authors' code, and both
with values of the authors' example script in ns-2.35 (`tcl/ex/redlight.tcl`) that the memo contradicts. The
command prints a table, ten runs for each cell; with `--write` it puts it into docs/guide/rfc2415-findings.md.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from cwndlab.study import Study

from .discriminate import HEAD, REPLICATES, Changes, Memo, outcome
from .overload import PAGE
from .page import replace_part

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
    """The changes of the model `authors`, as the study's axis has them."""
    [found] = [
        value for value in Study.load("rfc2415").raw["axes"]["model"]["values"] if value["name"] == "authors"
    ]
    return dict(found["set"])


#: Values of the script that the memo contradicts.
SCRIPT: dict[str, Changes] = {
    "delays of the script (25, 25, 1 ms)": _DELAYS,
    "maximum window of 26 packets": _window(26),
    "maximum window of 52 packets": _window(52),
    "RED 4/17, weight 1/16": _RED,
    "delays and window of 52": {**_DELAYS, **_window(52)},
}


def models() -> dict[str, Changes]:
    """All models: a title and what it changes."""
    found: dict[str, Changes] = {"`reconstructed`": {}}
    found |= {f"`reconstructed`, {title}": changes for title, changes in SCRIPT.items()}
    found["`authors`"] = authors()
    return found | {f"`authors`, {title}": {**authors(), **changes} for title, changes in SCRIPT.items()}


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints the table, and writes it if asked."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--replicates", type=int, default=REPLICATES)
    parser.add_argument("--write", action="store_true", help=f"put the table into {PAGE.name}")
    asked = parser.parse_args(arguments)
    memo = Memo("rfc2415", "RFC 2415, Tables 1 to 6", CELLS, models())
    lines = ["| " + " | ".join(HEAD) + " |", "|---|" + "---:|" * (len(HEAD) - 1)]
    for model in memo.models:
        lines.append("| " + " | ".join(outcome(memo, model, asked.replicates).row()) + " |")
        print(lines[-1], file=sys.stderr, flush=True)
    print("\n".join(lines))
    if asked.write:
        replace_part(PAGE, BEGIN, END, "\n".join(lines))
    return 0


if __name__ == "__main__":
    sys.exit(main())
