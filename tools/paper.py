"""`make paper`: the numbers in the paper (paper/paper.md, JOSS's format) and the README, and a PDF preview.

Figures, and the sentences between `<!-- made: NAME -->` and `<!-- end -->`, come from runs of the README's
study in the simulator and on Linux 6.12 in virtual time, and from the pages with results of `make trust`,
`make bench` and `cwndlab differ`. JOSS makes the final PDF.
"""

from __future__ import annotations

import csv
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import vl_convert
from jinja2 import Template
from markdown_it import MarkdownIt
from markupsafe import Markup

import cwndlab
from cwndlab.apps.rewrite.pdf import print_pdf
from cwndlab.base.errors import OutputError

ROOT = Path(__file__).parents[1]
PAPER = ROOT / "paper"
BUILD = ROOT / "build" / "paper"
MADE = re.compile(r"<!-- made: (\w+) -->(.*?)<!-- end -->", flags=re.S)
CITED = re.compile(r"\[((?:@\w+)(?:; @\w+)*)\]")
ENTRY = re.compile(r"^@(\w+)\{(\w+),\n(.*?)^\}", flags=re.S | re.M)
FIELD = re.compile(r"^\s*(\w+) = \{(.*)\},$", flags=re.M)

PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{{ head.title }}</title><style>
@page { size: A4; margin: 15mm 19mm; }
body { font: 9.5pt/1.36 Georgia, "Liberation Serif", serif; margin: 0; color: #111; }
@media screen { body { max-width: 46em; margin: 2em auto; padding: 0 1em; } }
h1 { font-size: 17pt; line-height: 1.25; } h2 { font-size: 12.5pt; margin: 1.2em 0 .3em; break-after: avoid; }
p { margin: 0 0 .6em; hyphens: auto; } figure { margin: .8em 0; break-inside: avoid; }
img { display: block; width: 64%; margin: auto; }
figcaption, .about, .references { font-size: 9pt; } code { font-size: 9pt; } a { color: inherit; }
.references p { padding-left: 1.5em; text-indent: -1.5em; margin: 0 0 .35em; overflow-wrap: anywhere; }
</style></head><body><h1>{{ head.title }}</h1><p class="about">{{ head.name }} · {{ head.date }}</p>
{{ body }}
<div class="references">{% for one in references %}<p>{{ one }}</p>{% endfor %}</div></body></html>"""


def question() -> cwndlab.Study:
    """The study in the README, saved to a file."""
    (text,) = re.findall(r"```toml\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), flags=re.S)
    file = BUILD / "question.toml"
    file.write_text(text, encoding="utf-8")
    return cwndlab.Study.load(file)


def finding(report: str) -> str:
    """The finding at the start of a report (Markdown), as a quotation."""
    (found,) = re.findall(r"^\*\*Finding\.\*\* (.*)$", report, flags=re.M)
    return f"\n> {found}\n"


def on_kernel(agreement: Sequence[Mapping[str, str]]) -> str:
    """A sentence on the differences between the kernel's and the simulator's shares, from agreement.csv."""
    rows = [row for row in agreement if row["quantity"] == "share_cubic"]
    apart = max(abs(float(row["difference"])) for row in rows)
    agree = sum(float(row["difference_low"]) <= 0 <= float(row["difference_high"]) for row in rows)
    return (
        f"\nOn Linux 6.12, CUBIC's mean shares are within {apart:.1f} percentage points of the simulator's; "
        f"the intervals of {agree} of the {len(rows)} differences, paired by replicate, contain 0.\n"
    )


def trust(page: str) -> str:
    """The sentence in docs/guide/trust.md on how many of others' measurements the simulator reproduces."""
    (text,) = re.findall(r"^(Of \d+ numbers that others measured.*?outside),", page, flags=re.M | re.S)
    return f"\n{' '.join(text.split())} (`make trust`).\n"


def scenarios(page: str) -> str:
    """The sentence on random scenarios in which simulator and kernel agree, from docs/evidence/kernel.md."""
    (found,) = re.findall(
        r"\| (\d+) of 200 \| the same packets at the server, within 0\.1 ms, to the end \|", page
    )
    return (
        f"Of 200 scenarios drawn at random, {found} give the same packets as Linux 6.12 to the end, each "
        "within 0.1 ms (`cwndlab differ`)."
    )


def speed(page: str) -> str:
    """A sentence on instructions per packet-hop of cwndlab, ns-2, htsim and ns-3, from benches/README.md."""
    ours, ns2 = re.findall(r"^\| `50x100M` \| (\d+) \| (\d+) \|$", page, flags=re.M)[0]
    htsim, ns3 = (
        re.findall(rf"^## {tool}\n.*?takes ([\d,]+) instructions per hop", page, flags=re.M | re.S)[0]
        for tool in ("htsim", "ns-3")
    )
    return (
        f"With 50 flows at 100 Mb/s, it takes {ours} instructions for each packet and link, htsim {htsim} "
        f"with a simpler TCP, ns-2 {ns2}, and ns-3's release build {ns3} (`make bench`)."
    )


def memos(pages: str) -> str:
    """A sentence on the memos' numbers and claims that are not reproduced, from the findings."""
    (first,) = re.findall(
        r"of (\d+) numbers of Tables 1 to 6 that can be tested, (\d+) are\s+incompatible.*?\((\d+ to \d+)\)",
        pages,
        flags=re.S,
    )
    (second,) = re.findall(
        r"of the (\d+) numbers that can be tested, (\d+) are incompatible.*?\((\d+ to \d+)\)",
        pages,
        flags=re.S,
    )
    claims = re.findall(r"Of (?:the )?(\d+) (?:claims|sentences),? (\d+) hold, (\d+) fail", pages)
    asked, failed = (sum(int(claim[k]) for claim in claims) for k in (0, 2))
    return (
        f"\nOf the {first[0]} numbers of RFC 2415's tables that can be tested, {first[1]} are incompatible "
        f"with the runs (by chance {first[2]} would be), of RFC 2884's {second[0]} numbers {second[1]} "
        f"({second[2]}), and of RFC 2416's 17 listed times one, a misprint. Of {asked} sentences of the "
        f"three memos, {failed} fail.\n"
    )


def renew(text: str, made: Mapping[str, str]) -> str:
    """The text with generated sentences inserted at their markers."""
    unknown = {name for name, _ in MADE.findall(text)} - made.keys()
    if unknown:
        raise SystemExit(f"there is no sentence {', '.join(sorted(unknown))}; known: {', '.join(made)}")
    return MADE.sub(lambda place: f"<!-- made: {place[1]} -->{made[place[1]]}<!-- end -->", text)


def from_pages() -> dict[str, str]:
    """The sentences that are taken from pages of this repository, by name."""
    findings = tuple(f"docs/evidence/rfc{number}-findings.md" for number in (2415, 2416, 2884))
    pages: dict[Callable[[str], str], tuple[str, ...]] = {
        trust: ("docs/guide/trust.md",),
        scenarios: ("docs/evidence/kernel.md",),
        speed: ("benches/README.md",),
        memos: findings,
    }
    return {
        say.__name__: say("\n".join((ROOT / page).read_text(encoding="utf-8") for page in some))
        for say, some in pages.items()
    }


def entries(bibliography: str) -> dict[str, dict[str, str]]:
    """The entries of paper.bib by key, each with its fields."""
    return {key: dict(FIELD.findall(fields)) for _, key, fields in ENTRY.findall(bibliography)}


def family_names(entry: Mapping[str, str]) -> str:
    """The authors in a citation's form."""
    names = [name.partition(",")[0] for name in entry["author"].split(" and ")]
    return names[0] + (f" & {names[1]}" if len(names) == 2 else " et al." if len(names) > 2 else "")


def reference(entry: Mapping[str, str]) -> Markup:
    """An entry of the list of references, as HTML."""
    people = entry["author"].replace(" and ", "; ")
    where = (
        entry.get("journal")
        or entry.get("booktitle")
        or " ".join(filter(None, [entry.get("type"), entry.get("number")]))
    )
    volume = f" {entry['volume']}({entry['number']})" if "volume" in entry else ""
    pages = f", {entry['pages'].replace('--', '–')}" if "pages" in entry else ""
    link = f"https://doi.org/{entry['doi']}" if "doi" in entry else entry["url"]
    place = Markup(" <i>{}</i>{}{}.").format(where, volume, pages) if where else ""
    return Markup('{} ({}). {}.{} <a href="{}">{}</a>').format(
        people, entry["year"], entry["title"], place, link, link
    )


def to_html(paper: str, bibliography: str) -> str:
    """The paper as HTML, with citations, numbered figures and the list of references."""
    _, head, body = paper.split("---\n", 2)
    known = entries(bibliography)

    def cite(found: re.Match[str]) -> str:
        of = [known[key.strip("@ ")] for key in found[1].split(";")]
        return "(" + "; ".join(f"{family_names(entry)}, {entry['year']}" for entry in of) + ")"

    cited = {key.strip("@ ") for keys in CITED.findall(body) for key in keys.split(";")}
    labels = re.findall(r"\\label\{([\w:]+)\}", body)
    text = CITED.sub(cite, MADE.sub(lambda place: place[2], body))
    for number, label in enumerate(labels, 1):
        text = text.replace(f"\\label{{{label}}}", "").replace(f"\\autoref{{{label}}}", f"Figure {number}")
    html = MarkdownIt("commonmark", {"html": False}).render(re.sub(r"^# ", "## ", text, flags=re.M))
    numbers = iter(range(1, len(labels) + 1))

    def picture(found: re.Match[str]) -> str:
        number = next(numbers)
        source = (PAPER / found[1]).as_uri()
        return (
            f'<figure><img src="{source}" alt="{found[2]}">'
            f"<figcaption><b>Figure {number}.</b> {found[2]}</figcaption></figure>"
        )

    html = re.sub(r'<p><img src="([^"]*)" alt="([^"]*)" /></p>', picture, html)
    facts = {
        name: re.findall(rf"^\W*{name}: '?(.*?)'?$", head, flags=re.M)[0]
        for name in ("title", "name", "date")
    }
    listed = [
        reference(known[key]) for key in sorted(cited, key=lambda key: family_names(known[key]).lower())
    ]
    return str(Template(PAGE, autoescape=True).render(head=facts, body=Markup(html), references=listed))


def run() -> dict[str, str]:
    """Runs the study on simulator and kernel, writes the figures, and returns the sentences by name."""
    chosen = question()
    chosen.run(out=BUILD / "simulator")
    chosen.run(out=BUILD / "kernel", backend="linux-virtual")
    share = (BUILD / "kernel/figures/share-by-buffer.svg").read_text(encoding="utf-8")
    (PAPER / "share.png").write_bytes(bytes(vl_convert.svg_to_png(share, scale=1.5)))
    picture = (ROOT / "docs/images/trust.svg").read_text(encoding="utf-8")
    (PAPER / "trust.png").write_bytes(bytes(vl_convert.svg_to_png(picture, scale=1.5)))
    with (BUILD / "kernel/agreement.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return {
        "finding": finding((BUILD / "simulator/report.md").read_text(encoding="utf-8")),
        "kernel": on_kernel(rows),
    }


def main() -> None:
    """Make the figures, update the numbers of the paper and the README, and print the paper."""
    BUILD.mkdir(parents=True, exist_ok=True)
    made = {**run(), **from_pages()}
    for path in (ROOT / "README.md", PAPER / "paper.md"):
        path.write_text(renew(path.read_text(encoding="utf-8"), made), encoding="utf-8")
    paper = (PAPER / "paper.md").read_text(encoding="utf-8")
    page = BUILD / "paper.html"
    page.write_text(to_html(paper, (PAPER / "paper.bib").read_text(encoding="utf-8")), encoding="utf-8")
    try:
        print(print_pdf(page, BUILD / "paper.pdf"))
    except OutputError as error:
        print(error, file=sys.stderr)
        print(page)


if __name__ == "__main__":
    main()
