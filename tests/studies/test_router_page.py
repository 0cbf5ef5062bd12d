"""docs/models/router.md names the keys of the router's configuration and of its summary, and no others."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/models/router.md").read_text()
SOURCE = ROOT / "crates/cwndlab-live/src"


def fields(file: str, *structs: str) -> set[str]:
    """The public fields of structs of the router's source."""
    text = (SOURCE / file).read_text()
    found: set[str] = set()
    for name in structs:
        (body,) = re.findall(rf"pub struct {name} \{{\n(.*?)\n\}}", text, flags=re.DOTALL)
        found |= set(re.findall(r"^    pub (?:\w+\()?\)? ?(\w+):", body, flags=re.MULTILINE))
    return found


def test_the_page_names_every_key_of_the_configuration() -> None:
    (table,) = re.findall(r"\n\| key \| \|\n\|---\|---\|\n(.*?)\n\n", PAGE, flags=re.DOTALL)
    keys = fields("config.rs", "RouterConfig", "CaptureConfig", "DatagramsConfig", "PortConfig", "Limits")
    words = {word for word in re.findall(r"`([a-z0-9_]+)`", table)}
    assert words == keys


def test_the_page_names_no_other_key_anywhere() -> None:
    structs = ("RouterConfig", "CaptureConfig", "DatagramsConfig", "PortConfig", "NearEnd", "Limits")
    known = fields("config.rs", *structs) | fields("report.rs", "Summary")
    known |= {"kind", "name", "peer_mac", "near", "epoll_pwait2"}
    named = set(re.findall(r"`([a-z0-9]+(?:_[a-z0-9]+)+)`", PAGE)) | set(re.findall(r'"([a-z_]+)":', PAGE))
    assert named <= known, named - known
