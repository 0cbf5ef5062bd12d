"""`cwndlab linux`: build and manage kernels that run in virtual time."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from cwndlab.base.errors import StudyError
from cwndlab.cli.arguments import ReplicatesOption, SetOption, load
from cwndlab.cli.output import echo, printable

linux = typer.Typer(
    no_args_is_help=True, help="Build kernels that run in virtual time, list and remove them."
)


_Jobs = Annotated[int | None, typer.Option(min=1, help="compilers at once; default: all processors")]


@linux.command("build")
def linux_build(
    kernel: Annotated[
        str | None,
        typer.Option(
            metavar="SERIES|PATH",
            help="6.1, 6.12, 7.3, a release such as 6.12.107 or `newest` from Debian, or a source as .tar.xz "
            "or folder; default: 6.12",
        ),
    ] = None,
    patch: Annotated[
        list[Path] | None, typer.Option(metavar="FILE", help="a patch to apply (-p1); repeatable")
    ] = None,
    law: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE.c", help="a congestion control to add, `tcp_congestion_ops` in C; repeatable"
        ),
    ] = None,
    config: Annotated[
        list[str] | None, typer.Option(metavar="KEY=…", help="a setting of the kernel, such as TCP_MD5SIG=y")
    ] = None,
    jobs: _Jobs = None,
    again: Annotated[bool, typer.Option(help="build although it is there")] = False,
) -> None:
    """Build a User-Mode Linux for `--backend linux-virtual`, into the user's cache."""
    from cwndlab.runs.executors.threads import available
    from cwndlab_linux.virtual import recipe, source
    from cwndlab_linux.virtual.build import build
    from cwndlab_linux.virtual.steps import BuildSteps

    laws = tuple(recipe.Law.from_file(file) for file in law or ())
    added = tuple(patch or ()), laws, tuple(config or ())
    with _progress() as say, tempfile.TemporaryDirectory() as work:
        path = Path(kernel) if kernel and kernel not in recipe.SERIES and Path(kernel).exists() else None
        if path is None and kernel and source.is_release(kernel):
            path = source.archive_of_release(kernel, Path(work), BuildSteps(Path(work, "log"), say))
        if path is None:
            series = recipe.series_named(kernel or recipe.DEFAULT)
        else:
            series = recipe.series_of(source.version_in(path), str(path))
        wanted = recipe.Recipe(series, *added)
        image = build(wanted, path, jobs or available(), say, again=again)
    echo(f"{image.path}: Linux {image.release}")
    if not wanted.is_stock:
        echo(f"run a study on it with --backend linux-virtual --kernel {image.name}")


@contextmanager
def _progress() -> Iterator[Callable[[str], None]]:
    """Prints progress; on a terminal, in a single line that changes."""
    alive = sys.stderr.isatty()

    def say(line: str) -> None:
        if alive:
            typer.echo(f"\r\x1b[K{printable(line)}", nl=False, err=True)
        else:
            echo(line, err=True)

    try:
        yield say
    finally:
        if alive:
            echo(err=True)


@linux.command("test")
def linux_test(
    kernel: Annotated[
        str | None,
        typer.Argument(metavar="KERNEL", help="a series, or as `linux list` shows it; default: 6.12"),
    ] = None,
    packetdrill: Annotated[
        Path | None, typer.Option(metavar="PATH", help="packetdrill's program; default: built, or in PATH")
    ] = None,
    only: Annotated[str, typer.Option(metavar="TEXT", help="scripts with this in their names")] = "",
    repeat: Annotated[int, typer.Option(min=1, help="starts of the kernel; all must give the same")] = 2,
    verbose: Annotated[
        bool, typer.Option("-v", "--verbose", help="print what each failing script printed")
    ] = False,
) -> None:
    """Run Linux's own packetdrill scripts in a kernel, at their own tolerance and at 1 ms.

    Exits with 1 if a script does not hold at its own tolerance, or if two repetitions differ.
    """
    from cwndlab_linux.virtual import images, selftests
    from cwndlab_linux.virtual.packetdrill import digest_of, run
    from cwndlab_linux.virtual.packetdrill_program import find_packetdrill

    image = images.find(kernel)
    program = find_packetdrill(packetdrill)
    tolerances = {selftests.TOLERANCE_US: "at their own tolerance", 1000: "at 1 ms"}
    groups = {
        (version, tolerance_us): selftests.runs_of(image, version, tolerance_us, only)
        for version in selftests.ip_versions(image)
        for tolerance_us in tolerances
    }
    scripts = [one for group in groups.values() for one in group]
    digests = []
    for number in range(repeat):
        echo(f"repetition {number + 1} of {repeat}: {len(scripts)} runs of scripts", err=True)
        results = run(image, program, scripts)
        digests.append(digest_of(results))
    found = {one.run: one for one in results}
    failed = []
    for (version, tolerance_us), group in groups.items():
        held = sum(found[one].holds for one in group)
        over = "" if version == "ipv4" else " over IPv6"
        echo(f"{image.name}: {held} of {len(group)} scripts hold{over} {tolerances[tolerance_us]}")
        if tolerance_us == selftests.TOLERANCE_US:
            failed += [(one.path.name + over, found[one]) for one in group if not found[one].holds]
    for name, result in failed:
        echo(f"    {name}: {result.output if verbose else result.reason}")
    same = len(set(digests)) == 1
    words = "equal in all repetitions" if same else f"DIFFERENT: {', '.join(digests[1:])}"
    echo(f"digest of all output: {digests[0]}, {words}")
    if failed or not same:
        raise typer.Exit(1)


@linux.command("packetdrill")
def linux_packetdrill(
    source: Annotated[
        str | None,
        typer.Argument(
            metavar="[SOURCE]",
            help="a folder, an archive or the address of a git repository; default: Google's",
        ),
    ] = None,
    commit: Annotated[
        str | None,
        typer.Option(
            metavar="COMMIT", help="of the repository; default: one that was tried with all kernels"
        ),
    ] = None,
    jobs: _Jobs = None,
) -> None:
    """Build packetdrill into the user's cache, for `linux test` and `cwndlab packetdrill --kernel`."""
    from cwndlab.runs.executors.threads import available
    from cwndlab_linux.virtual.packetdrill_program import ADDRESS, build_packetdrill

    with _progress() as say:
        program = build_packetdrill(source or ADDRESS, commit, jobs or available(), say)
    echo(f"{program}: `cwndlab packetdrill SCRIPT… --kernel 6.12` and `cwndlab linux test` run it")


@linux.command("list")
def linux_list() -> None:
    """List the builds that are under way and the kernels that were built, the newest first."""
    from cwndlab_linux.virtual import images
    from cwndlab_linux.virtual.under_way import builds_under_way

    for under_way in builds_under_way(images.kernels_folder()):
        echo(f"being built: {under_way}")
    folders = images.built_kernels()
    if not folders:
        echo("no kernel has been built yet; `cwndlab linux build` builds one", err=True)
    for folder in folders:
        about = images.kernel_facts(folder)
        parts = [*about.get("patches", ()), *about.get("laws", ()), *about.get("config", ())]
        size_mb = images.size(folder) / 1e6
        echo(f"{folder.name}  {size_mb:.0f} MB  {'with ' + ', '.join(parts) if parts else 'stock'}")
        echo(f"    congestion controls: {' '.join(images.congestion_controls(about)) or 'not known'}")
    if images.sources_folder().is_dir():
        echo(f"compiled source, to which laws are added: {images.size(images.sources_folder()) / 1e6:.0f} MB")


@linux.command("remove")
def linux_remove(name: Annotated[str, typer.Argument(help="as `linux list` shows it")]) -> None:
    """Remove a kernel, and its compiled source if no other one needs it."""
    from cwndlab_linux.virtual import images

    echo(f"removed {name}: {images.remove(name) / 1e6:.0f} MB")


@linux.command("stacks")
def linux_stacks(
    names: Annotated[list[str] | None, typer.Argument(metavar="[NAME...]", help="stacks to build")] = None,
) -> None:
    """List QUIC stacks that studies can run as programs, or build some."""
    from cwndlab_linux import quic_stacks

    chosen = [quic_stacks.recipe(name) for name in names or ()]
    with _progress() as say:
        for stack in chosen:
            quic_stacks.build(stack, say)
    for stack in chosen or quic_stacks.recipes():
        laws = ", ".join(stack.laws)
        state = "built" if stack.is_built else f"not built: cwndlab linux stacks {stack.name}"
        echo(f"{stack.name} {stack.version}: {laws} ({state})")


@linux.command("bisect")
def linux_bisect(
    study: Annotated[str, typer.Argument(metavar="STUDY", help="a shipped name, or a file")],
    source: Annotated[
        Path | None, typer.Option(metavar="TREE", help="a git repository of Linux's source")
    ] = None,
    good: Annotated[str | None, typer.Option(metavar="COMMIT", help="with --source, the earlier end")] = None,
    bad: Annotated[
        str, typer.Option(metavar="COMMIT", help="with --source, the later end, at which a number differs")
    ] = "HEAD",
    kernels: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,…",
            help="instead of commits: releases such as 6.12.107 from Debian, sources as .tar.xz or folder, "
            "and kernels from `linux list`, the good end first",
        ),
    ] = None,
    on: Annotated[
        str | None,
        typer.Option(
            metavar="QUANTITY|packets", help="what decides; default: the number that moves most between both"
        ),
    ] = None,
    set_: SetOption = None,
    replicates: ReplicatesOption = None,
    log: Annotated[
        Path | None, typer.Option(metavar="FILE", help="of `git bisect log`, whose decisions are taken over")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", metavar="DIR", help="default: ./STUDY-bisect")
    ] = None,
    jobs: _Jobs = None,
) -> None:
    """Find the commit, or the release, of Linux at which a measured quantity moves, in virtual time.

    Each step compiles what changed. The same command continues one that was stopped.
    """
    from cwndlab.base.writing import write_atomic
    from cwndlab.runs.executors.threads import available
    from cwndlab_linux.virtual.bisection import Commits
    from cwndlab_linux.virtual.releases import Releases
    from cwndlab_linux.virtual.trials import Trials, report

    loaded = load(study, set_, None)
    folder = (out or Path(f"{loaded.name}-bisect")).resolve()
    chosen = loaded, folder, on, replicates, lambda line: echo(line, err=True)
    jobs = jobs or available()
    if kernels is not None and source is None and good is None:
        releases = Releases(kernels.split(","), folder, jobs)
        found = releases.first_bad(Trials(releases, *chosen))
    elif kernels is None and source is not None and good is not None:
        commits = Commits(source, folder, jobs)
        found = commits.first_bad(Trials(commits, *chosen), good, bad, log)
    else:
        right = "--source TREE with --good COMMIT, or --kernels A,B,… alone"
        raise StudyError("a bisection needs what it looks among", key="--source", right=right)
    text = report(found, loaded)
    write_atomic(folder / "bisect.md", text.encode())
    echo(text.rstrip())
    echo(f"report: {folder / 'bisect.md'}")
