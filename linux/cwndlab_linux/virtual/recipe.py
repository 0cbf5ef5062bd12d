"""Recipes of kernels for virtual time: a series, patches, congestion controls in C, and settings."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from cwndlab.base.errors import RunError, nearest

KERNELS = Path(__file__).resolve().parent / "kernels"


@dataclass(frozen=True)
class Series:
    """A kernel series for which cwndlab has a patch."""

    #: Major and minor version, such as "6.12".
    name: str
    #: Debian's distributions that have its source package, the preferred one first.
    suites: tuple[str, ...]
    #: Settings added to `kernels/config`.
    added: tuple[str, ...] = ()
    #: Symbols in `kernels/config` that this series lacks.
    absent: tuple[str, ...] = ()

    @property
    def package(self) -> str:
        """The name of Debian's source package."""
        return f"linux-source-{self.name}"

    @property
    def patch(self) -> Path:
        """The patch that adapts User-Mode Linux to virtual time."""
        return KERNELS / f"{self.name}.patch"

    @property
    def config(self) -> list[str]:
        """The lines of the configuration."""
        lines = (KERNELS / "config").read_text().splitlines()
        own = [f"CONFIG_{line}" for line in self.added]
        return [line for line in lines if _symbol(line) not in self.absent] + own


#: The default: the kernel of Debian stable, which was used for the published findings.
DEFAULT = "6.12"
SERIES = {
    series.name: series
    for series in (
        # Without this, 6.1 waits forever for more entropy; later kernels trust the host's.
        Series("6.1", ("bookworm-security", "bookworm"), added=("RANDOM_TRUST_CPU=y",)),
        Series("6.12", ("trixie-security", "trixie", "bookworm-security")),
        # SYSCTL selects PROC_SYSCTL; preemption can no longer be chosen for User-Mode Linux.
        Series(
            "7.3",
            ("trixie-backports",),
            added=("SYSCTL=y", "NET_SCH_DUALPI2=y"),
            absent=("PROC_SYSCTL", "PREEMPT_NONE"),
        ),
    )
}


def backports() -> list[Path]:
    """Patches from later kernels that a series' patch needs; sources that include them skip them."""
    return sorted((KERNELS / "backports").glob("*.patch"))


def added_files() -> list[tuple[Path, Path]]:
    """The files that every kernel gets, each with its path in Linux's source."""
    folder = KERNELS / "added"
    return [(path, path.relative_to(folder)) for path in sorted(folder.rglob("*.[ch]"))]


def series_of(version: str, where: str) -> Series:
    """The newest series that is not newer than this version; RunError if there is none."""
    number = _number(version)
    older = [series for name, series in SERIES.items() if _number(name) <= number]
    if not older:
        raise RunError(
            f"{where}: Linux {version} is too old; the oldest with a patch is {next(iter(SERIES))}"
        )
    return older[-1]


def series_named(name: str) -> Series:
    """The series of this name; RunError with advice if there is none."""
    if name not in SERIES:
        right = advice_without(name) or nearest(name, list(SERIES))
        raise RunError(f"--kernel: there is no series {name}, and no such file or folder; {right}")
    return SERIES[name]


def advice_without(version: str) -> str | None:
    """Advice for a version that is no series; None if this is no version. RunError if it is too old."""
    if not re.fullmatch(r"\d+\.\d+(\.\d+)?", version):
        return None
    patch = series_of(version, "--kernel").name
    return (
        f"Debian's are {', '.join(SERIES)}. `cwndlab linux build --kernel PATH` takes a source of {version}, "
        f"as folder or .tar.xz, with the patch for {patch}, and fails if that does not apply"
    )


def _number(version: str) -> tuple[int, ...]:
    return tuple(int(word) for word in version.split(".")[:2])


def _symbol(line: str) -> str:
    return line.partition("=")[0].removeprefix("CONFIG_")


def registered_names(text: str) -> list[str]:
    """The names of all `tcp_congestion_ops` in a source file."""
    blocks = re.findall(r"struct\s+tcp_congestion_ops\s+\w+[^=;{]*=\s*\{(.*?)\n\}", text, re.DOTALL)
    return [found[1] for block in blocks if (found := re.search(r'\.name\s*=\s*"([^"]+)"', block))]


@dataclass(frozen=True)
class Law:
    """A congestion control in C: a source file that registers a `tcp_congestion_ops`."""

    path: Path
    #: The names of its `tcp_congestion_ops`.
    names: tuple[str, ...]

    @classmethod
    def from_file(cls, path: Path) -> Law:
        """The law in a file; RunError if it contains none."""
        try:
            text = path.read_text()
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or "not a text"
            raise RunError(f"--law {path}: {reason}") from None
        if path.suffix != ".c" or not re.fullmatch(r"\w+", path.stem):
            raise RunError(f"--law {path}: the name must be letters, digits and _, and end in .c")
        names = registered_names(text)
        if not names:
            raise RunError(f'--law {path}: no `struct tcp_congestion_ops` with a `.name = "…"` in it')
        return cls(path, tuple(names))


#: Most characters that patches and laws take in the name of a kernel.
MOST_NAMED = 40


@dataclass(frozen=True)
class Recipe:
    """A series and additions to it. The digest identifies the resulting kernel."""

    series: Series
    patches: tuple[Path, ...] = ()
    laws: tuple[Law, ...] = ()
    #: Settings such as "TCP_CONG_LP=y".
    config: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for path in self.patches:
            if not path.is_file():
                raise RunError(f"--patch {path}: no such file")
        for line in self.config:
            if not re.fullmatch(r"[A-Z0-9_]+=(y|n|\d+|0x[0-9a-f]+|\"[^\"]*\")", line):
                raise RunError(
                    f'--config {line}: KEY=y, KEY=n, KEY=NUMBER or KEY="TEXT" is wanted, without CONFIG_'
                )
        stems = [law.path.stem for law in self.laws]
        if len(set(stems)) < len(stems):
            raise RunError("--law: two files have the same name")

    @property
    def is_stock(self) -> bool:
        """Whether nothing is added to the series."""
        return not (self.patches or self.laws or self.config)

    @property
    def is_of_whole_source(self) -> bool:
        """Whether a user's patch or setting may need any file of Linux's source."""
        return bool(self.patches or self.config)

    @property
    def settings(self) -> list[str]:
        """The lines of the kernel's configuration."""
        replaced = {_symbol(line) for line in self.config}
        kept = [line for line in self.series.config if _symbol(line) not in replaced]
        return [*kept, *(f"CONFIG_{line}" for line in self.config)]

    @property
    def base(self) -> Recipe:
        """The recipe without laws: the state in which a tree is compiled before laws are added."""
        return Recipe(self.series, self.patches, (), self.config)

    @property
    def words(self) -> str:
        """The series and its additions, as text."""
        added = [*(path.name for path in self._added), *self.config]
        return " with ".join([self.series.name, *filter(None, [", ".join(added)])])

    def name_of(self, version: str) -> str:
        """The kernel's name: version, patches, laws, settings and digest."""
        names = [*(path.stem for path in self._added), *self.config]
        stems = [re.sub(r"[^A-Za-z0-9_.]+", "-", name).strip("-.") for name in names]
        return "-".join([version, *filter(None, ["-".join(filter(None, stems))[:MOST_NAMED]]), self.digest])

    @property
    def _added(self) -> list[Path]:
        return [*self.patches, *(law.path for law in self.laws)]

    @property
    def digest(self) -> str:
        """Digest of everything in the recipe; Linux's own source is excluded."""
        return hashlib.sha256(b"\0".join(self._content())).hexdigest()[:10]

    def _content(self) -> Iterator[bytes]:
        yield self.series.patch.read_bytes()
        for path, place in added_files():
            yield place.as_posix().encode() + b"\0" + path.read_bytes()
        yield "\n".join(self.settings).encode()
        for path in self.patches:
            yield path.read_bytes()
        for law in self.laws:
            yield law.path.name.encode() + b"\0" + law.path.read_bytes()

    def facts(self) -> dict[str, object]:
        """The parts of the recipe, for provenance."""

        def digest(path: Path) -> str:
            return hashlib.sha256(path.read_bytes()).hexdigest()[:16]

        return {
            "series": self.series.name,
            "patches": {path.name: digest(path) for path in self.patches},
            "laws": {law.path.name: digest(law.path) for law in self.laws},
            "config": list(self.config),
        }
