"""What a kernel for virtual time is built from: a series, patches, congestion controls in C and settings."""

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
    """A kernel series that cwndlab has a patch for."""

    #: Major and minor version, such as "6.12".
    name: str
    #: Debian's releases that have its source package, first the one to prefer.
    suites: tuple[str, ...]
    #: Settings added to `kernels/config`.
    added: tuple[str, ...] = ()
    #: Symbols in `kernels/config` that this series does not have.
    absent: tuple[str, ...] = ()

    @property
    def package(self) -> str:
        """Debian's source package."""
        return f"linux-source-{self.name}"

    @property
    def patch(self) -> Path:
        """What User-Mode Linux needs for virtual time."""
        return KERNELS / f"{self.name}.patch"

    @property
    def config(self) -> list[str]:
        """The settings, a line each."""
        lines = (KERNELS / "config").read_text().splitlines()
        own = [f"CONFIG_{line}" for line in self.added]
        return [line for line in lines if _symbol(line) not in self.absent] + own


#: The default: the kernel of Debian stable, which the published findings were made with.
DEFAULT = "6.12"
SERIES = {
    series.name: series
    for series in (
        # Later kernels trust the "host's entropy" unless told otherwise; 6.1 waits for more, for ever.
        Series("6.1", ("bookworm-security", "bookworm"), added=("RANDOM_TRUST_CPU=y",)),
        Series("6.12", ("trixie-security", "trixie", "bookworm-security")),
        # SYSCTL selects PROC_SYSCTL; preemption cannot be chosen for User-Mode Linux any more.
        Series(
            "7.3",
            ("trixie-backports",),
            added=("SYSCTL=y", "NET_SCH_DUALPI2=y"),
            absent=("PROC_SYSCTL", "PREEMPT_NONE"),
        ),
    )
}


def backports() -> list[Path]:
    """Changes of later kernels that a series' patch needs; sources that have them do not take them."""
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
    """The series of this name; RunError says what to do if there is none."""
    if name not in SERIES:
        right = advice_without(name) or nearest(name, list(SERIES))
        raise RunError(f"--kernel: there is no series {name}, and no such file or folder; {right}")
    return SERIES[name]


def advice_without(version: str) -> str | None:
    """What to do for a kernel that is of no series; None if this is no version. RunError if it is too old."""
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
    """The names of the `tcp_congestion_ops` in a source file."""
    blocks = re.findall(r"struct\s+tcp_congestion_ops\s+\w+[^=;{]*=\s*\{(.*?)\n\}", text, re.DOTALL)
    return [found[1] for block in blocks if (found := re.search(r'\.name\s*=\s*"([^"]+)"', block))]


@dataclass(frozen=True)
class Law:
    """A congestion control in C: a source file that registers a `tcp_congestion_ops`."""

    path: Path
    #: The names that its `tcp_congestion_ops` have.
    names: tuple[str, ...]

    @classmethod
    def from_file(cls, path: Path) -> Law:
        """The law in a file; RunError if there is none."""
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


#: Characters of the names of patches and laws in the name of a kernel.
MOST_NAMED = 40


@dataclass(frozen=True)
class Recipe:
    """A series with what is added to it. Its digest names what is built."""

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
        """Whether a patch or a setting of the user's may need any file of Linux's source."""
        return bool(self.patches or self.config)

    @property
    def settings(self) -> list[str]:
        """The lines of the kernel's configuration."""
        replaced = {_symbol(line) for line in self.config}
        kept = [line for line in self.series.config if _symbol(line) not in replaced]
        return [*kept, *(f"CONFIG_{line}" for line in self.config)]

    @property
    def base(self) -> Recipe:
        """The same without laws: what a tree is compiled as before laws are added."""
        return Recipe(self.series, self.patches, (), self.config)

    @property
    def words(self) -> str:
        """The series with what is added to it."""
        added = [*(path.name for path in self._added), *self.config]
        return " with ".join([self.series.name, *filter(None, [", ".join(added)])])

    def name_of(self, version: str) -> str:
        """The name of what is built: the version, its patches, laws and settings, and the digest."""
        names = [*(path.stem for path in self._added), *self.config]
        stems = [re.sub(r"[^A-Za-z0-9_.]+", "-", name).strip("-.") for name in names]
        return "-".join([version, *filter(None, ["-".join(filter(None, stems))[:MOST_NAMED]]), self.digest])

    @property
    def _added(self) -> list[Path]:
        return [*self.patches, *(law.path for law in self.laws)]

    @property
    def digest(self) -> str:
        """Of everything in it except Linux's own source."""
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
        """Its parts, for provenance."""

        def digest(path: Path) -> str:
            return hashlib.sha256(path.read_bytes()).hexdigest()[:16]

        return {
            "series": self.series.name,
            "patches": {path.name: digest(path) for path in self.patches},
            "laws": {law.path.name: digest(law.path) for law in self.laws},
            "config": list(self.config),
        }
