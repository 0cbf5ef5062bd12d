"""Insert random faults into copies of the sources, and run the tests of their areas: `make mutants`.

cargo-mutants lists faults of the Rust crates, cosmic-ray those of the Python package. A seed selects places
from both lists, and one fault for each place, so that an operator with many replacements counts once. A fault
is `killed` if a test of its area fails, `elsewhere` if only other tests do (`--elsewhere`), and `survived`
otherwise. Outcomes are stored in `build/mutants/seed-N/`; run the same command again to continue. Areas,
their tests, and arguments for equivalent mutants are in `mutants.toml`. `--write` updates the table in
`docs/decisions/mutants.md`.
"""

from __future__ import annotations

import argparse
import json
import random
import signal
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace

from mutants_run import KILLED, Areas, Copy, Mutant, try_mutant
from mutants_sources import python_mutants, rust_mutants
from repository import ROOT

FOLDER = ROOT / "build" / "mutants"
PAGE = ROOT / "docs" / "decisions" / "mutants.md"
#: Results that the tests of the area missed.
MISSED = ("survived", "elsewhere")
BEGIN, END = "<!-- made by tools/mutants.py --write -->", "<!-- end of the table -->"


@dataclass(frozen=True)
class Outcome:
    """The outcome of the tests for a mutant."""

    mutant: Mutant
    #: `killed`, `timeout`, `unviable` (it does not compile), `elsewhere`, or `survived`.
    result: str
    #: The first test that failed; "" if none did.
    test: str
    cpu_s: float


def drawn(asked: argparse.Namespace, areas: Areas) -> list[Mutant]:
    """The mutants of this seed: places sampled from both lists, and a random mutant at each place."""
    sample, seed = asked.sample, asked.seed
    kept = FOLDER / f"seed-{seed}" / "drawn.json"
    if kept.exists():
        mutants = [Mutant(**fields) for fields in json.loads(kept.read_text(encoding="utf-8"))]
        if len(mutants) != sample:
            raise SystemExit(f"seed {seed} was drawn with SAMPLE={len(mutants)}; use that, or another seed")
        return mutants
    places: dict[tuple[str, int, int], list[Mutant]] = defaultdict(list)
    rust = rust_mutants(areas) if asked.language != "python" else []
    python = python_mutants(areas, FOLDER) if asked.language != "rust" else []
    for mutant in [*rust, *python]:
        if not asked.area or mutant.area in asked.area:
            places[mutant.file, mutant.line, mutant.column].append(mutant)
    print("places:", dict(Counter(of[0].area for of in places.values())))
    source = random.Random(seed)
    mutants = [source.choice(places[place]) for place in source.sample(sorted(places), sample)]
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.write_text(json.dumps([asdict(one) for one in mutants], indent=1), encoding="utf-8")
    return mutants


def kept_outcomes(seed: int) -> dict[int, Outcome]:
    """The stored outcomes by number."""
    found = sorted((FOLDER / f"seed-{seed}").glob("[0-9]*.json"))
    read = {int(path.stem): json.loads(path.read_text(encoding="utf-8")) for path in found}
    return {number: Outcome(**{**one, "mutant": Mutant(**one["mutant"])}) for number, one in read.items()}


def run(mutants: list[Mutant], asked: argparse.Namespace, areas: Areas) -> None:
    """Try the mutants without an outcome, in order of selection, and, with `--again`, those that survived."""
    before = kept_outcomes(asked.seed)
    rest = [
        (number, mutant)
        for number, mutant in enumerate(mutants)
        if asked.language in (None, mutant.language) and (not asked.area or mutant.area in asked.area)
        if number not in before or (asked.again and before[number].result in MISSED)
    ]
    copies: dict[str, Copy] = {}
    for number, mutant in rest:
        if mutant.language not in copies:
            copies[mutant.language] = Copy(FOLDER / mutant.language)
        copy = copies[mutant.language]
        outcome = Outcome(mutant, *try_mutant(copy, areas, mutant, FOLDER, asked.elsewhere))
        path = FOLDER / f"seed-{asked.seed}" / f"{number:04}.json"
        path.write_text(json.dumps(asdict(outcome), indent=1), encoding="utf-8")
        print(
            f"{outcome.result:10} {mutant.area}: {mutant.name} [{outcome.cpu_s:.0f} s] {outcome.test}",
            flush=True,
        )


def judged(outcomes: dict[int, Outcome], areas: Areas) -> list[Outcome]:
    """The outcomes, with `equivalent` for survivors that `mutants.toml` argues to be equivalent."""
    return [
        replace(one, result="equivalent") if one.result in MISSED and areas.argument(one.mutant) else one
        for _, one in sorted(outcomes.items())
    ]


def table(outcomes: list[Outcome], areas: Areas) -> Iterator[str]:
    """The lines of the table by area, with the share of viable mutants that the area's tests missed."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for one in outcomes:
        for row in (f"{one.mutant.language}: {one.mutant.area}", "all"):
            counts[row][one.result] += 1
    yield "| area | drawn | unviable | equivalent | killed | elsewhere | survived | share | at most |"
    yield "|---|---:|---:|---:|---:|---:|---:|---:|---:|"
    for area in sorted(counts, key=lambda row: (row == "all", row)):
        of = counts[area]
        viable = of.total() - of["unviable"] - of["equivalent"]
        missed = of["survived"] + of["elsewhere"]
        share = f"{missed / viable:.0%}" if viable else "–"
        cells = (
            of.total(),
            of["unviable"],
            of["equivalent"],
            sum(of[one] for one in KILLED),
            of["elsewhere"],
        )
        most = "" if area == "all" else f"{areas.most_percent(area.split()[1])}%"
        yield f"| {area} | {' | '.join(map(str, cells))} | {of['survived']} | {share} | {most} |"


def main() -> None:
    """Select mutants, run their tests, and print the table and the survivors."""
    parser = argparse.ArgumentParser(description=__doc__.split(":")[0] if __doc__ else None)
    parser.add_argument("--sample", type=int, default=200, help="how many mutants to draw")
    parser.add_argument(
        "--seed", type=int, required=True, help="what draws them; a new one for a new statement"
    )
    parser.add_argument("--language", choices=["rust", "python"], help="draw and run only these")
    parser.add_argument("--area", nargs="+", help="draw and run only those of these areas")
    parser.add_argument("--again", action="store_true", help="run survivors again, after new tests")
    parser.add_argument(
        "--elsewhere", action="store_true", help="give survivors to the tests of other areas, too"
    )
    parser.add_argument("--table", action="store_true", help="try no more: print the table of what was tried")
    parser.add_argument("--write", action="store_true", help=f"put the table into {PAGE.relative_to(ROOT)}")
    asked = parser.parse_args()
    areas = Areas.read(ROOT / "tools" / "mutants.toml")
    signal.signal(
        signal.SIGTERM, lambda *_: sys.exit("mutants: stopped")
    )  # stops the tests and restores the copy
    mutants = drawn(asked, areas)
    if not asked.table:
        run(mutants, asked, areas)
    outcomes = judged(kept_outcomes(asked.seed), areas)
    made = "\n".join(table(outcomes, areas))
    print(f"\nseed {asked.seed}: {len(outcomes)} of {len(mutants)} tried\n\n{made}\n")
    for one in outcomes:
        if one.result in MISSED:
            print(f"{one.result}: {one.mutant.name} {one.test}")
    if asked.write:
        text = PAGE.read_text(encoding="utf-8")
        head = f"Seed {asked.seed}: {len(outcomes)} of {len(mutants)} tried."
        start, end = text.index(BEGIN) + len(BEGIN), text.index(END)
        PAGE.write_text(f"{text[:start]}\n\n{head}\n\n{made}\n\n{text[end:]}", encoding="utf-8")


if __name__ == "__main__":
    main()
