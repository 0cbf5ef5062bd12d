"""Find phrases that this project does not use: `make check`.

prose.toml lists the phrases with replacements. The search covers Markdown outside of code, and the comments,
docstrings and messages of Python, Rust, JavaScript and TOML, in all files that git tracks or would add.

Usage: prose.py [--count] [FILE …]; --count prints how often each phrase was found, and exits 0.
"""

from __future__ import annotations

import re
import sys
import tokenize
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path

import repository
from repository import ROOT

RULES = Path(__file__).with_suffix(".toml")
#: Separates pieces of prose, so that no phrase matches across them.
GAP = "\0"

#: Parts of a Markdown file that are not searched: code, quotations, comments and addresses.
MARKDOWN_CODE = re.compile(
    r"^(?P<fence>```+|~~~+).*?^(?P=fence)|^(?: {4}|>).*?$|`[^`\n]+`|<!--.*?-->|\]\([^)\n]*\)", re.S | re.M
)
#: Comments and strings of a language with C's comments. A string is a message if it has a space.
C_LIKE = re.compile(
    r'//+!?(?P<line>[^\n]*)|/\*+(?P<block>.*?)\*/|"(?P<text>(?:[^"\\\n]|\\.)* (?:[^"\\]|\\.)*)"', re.S
)
#: Comments and strings of TOML, except for the quotations of claims.
TOML = re.compile(r'^text = ".*?"$|#(?P<line>[^\n]*)|"(?P<text>[^"\n]* [^"\n]*)"', re.M)
#: Comment markers at the start of a line; a phrase may continue after them.
MARKS = re.compile(r"^[ \t]*(?://[/!]?|#:?|\*)", re.M)


def blank(text: str) -> str:
    """The text with gaps in place of all characters; line breaks are kept."""
    return re.sub(r"[^\n]", GAP, text)


def markdown(text: str) -> str:
    """A Markdown file with everything but its prose blanked."""
    return MARKDOWN_CODE.sub(lambda found: blank(found[0]), text)


def kept(text: str, spans: Sequence[tuple[int, int]]) -> str:
    """The text with everything outside of these spans blanked; spans on consecutive lines are joined."""
    out, at = [], 0
    for start, end in spans:
        between = text[at:start]
        out.append(MARKS.sub(lambda m: " " * len(m[0]), between) if joins(between) else blank(between))
        out.append(text[start:end])
        at = end
    return "".join(out) + blank(text[at:])


def joins(between: str) -> bool:
    """Whether only the start of a comment's next line separates two spans."""
    return "\n" in between and not MARKS.sub("", between).strip()


def matched(pattern: re.Pattern[str]) -> Callable[[str], str]:
    """A function that keeps only the groups that a pattern finds."""

    def keep(text: str) -> str:
        found = pattern.finditer(text)
        return kept(text, [m.span(m.lastgroup) for m in found if m.lastgroup])

    return keep


def python(text: str) -> str:
    """A Python file with everything but its comments, and strings that contain a space, blanked."""
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    lines = iter(text.splitlines(keepends=True))
    spans = []
    for token in tokenize.generate_tokens(lambda: next(lines, "")):
        comment = token.type == tokenize.COMMENT
        if comment or (tokenize.tok_name[token.type] in ("STRING", "FSTRING_MIDDLE") and " " in token.string):
            start, end = (starts[row - 1] + column for row, column in (token.start, token.end))
            spans.append((start + comment, end))
    return kept(text, spans)


READERS: dict[str, Callable[[str], str]] = {
    ".md": markdown,
    ".py": python,
    ".pyi": python,
    ".rs": matched(C_LIKE),
    ".js": matched(C_LIKE),
    ".toml": matched(TOML),
}


@cache
def rules() -> list[tuple[re.Pattern[str], str]]:
    """Each phrase as a pattern, with its replacement. A space in a phrase matches any white space."""
    listed = tomllib.loads(RULES.read_text())["rules"]
    return [(re.compile(r"\b(?:" + r["not"].replace(" ", r"\s+") + ")", re.I), r["write"]) for r in listed]


def files() -> list[Path]:
    """The files of the repository with prose, except for the list of phrases."""
    return [path for path in repository.files() if path.suffix in READERS and path != RULES]


def findings(path: Path) -> Iterator[tuple[int, str, str]]:
    """Line, phrase and replacement of everything found in a file."""
    prose = READERS[path.suffix](path.read_text())
    for pattern, write in rules():
        for found in pattern.finditer(prose):
            yield prose.count("\n", 0, found.start()) + 1, " ".join(found[0].split()), write


def main() -> int:
    """Print what was found; returns 1 if there is anything."""
    count = "--count" in sys.argv
    named = [Path(word).resolve() for word in sys.argv[1:] if not word.startswith("--")]
    paths = named or files()
    tally: Counter[str] = Counter()
    for path in paths:
        for line, phrase, write in sorted(findings(path)):
            tally[write] += 1
            if not count:
                print(f"{path.relative_to(ROOT)}:{line}: '{phrase}': write {write}")
    if count:
        for write, number in tally.most_common():
            print(f"{number:5d}  {write}")
        print(f"{tally.total():5d}  in all, {len(paths)} files")
        return 0
    return bool(tally)


if __name__ == "__main__":
    sys.exit(main())
