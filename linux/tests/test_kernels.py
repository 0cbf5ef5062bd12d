"""Kernels for virtual time: what they are built from, how they are built, found and removed.

A source of a few lines stands for Linux's here; `make validate` builds the real ones.
"""

from __future__ import annotations

import os
import subprocess
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from cwndlab.apps.new.command import write_law_c
from cwndlab.base.errors import OutputError, RunError, StudyError
from cwndlab_linux.virtual import boot, build, images, recipe
from cwndlab_linux.virtual.recipe import Law, Recipe

LAW = """
static struct tcp_congestion_ops mine __read_mostly = {
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = "mine",
	.ssthresh = tcp_reno_ssthresh,
};
"""
#: "Compiles" by writing what a kernel's program is recognized by, and names its laws.
MAKEFILE = """VERSION = 6
PATCHLEVEL = 12
SUBLEVEL = 5
allnoconfig:
	cp $(KCONFIG_ALLCONFIG) .config
.PHONY: linux
linux: text
	@echo "  CC    linux"
	@echo "Linux version 6.12.5-x time-travel=inf-cpu" > linux
	@cat text arch/um/router.c net/ipv4/* >> linux
	@test ! -e broken || { echo "net/ipv4/mine.c:3:1: error: expected identifier"; exit 1; }
mrproper:
	rm -f linux
"""
PATCH = """--- a/text
+++ b/text
@@ -1 +1 @@
-as released
+patched
"""


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a source, and a cache of the test's own."""
    kernels = tmp_path / "kernels"
    kernels.mkdir()
    (kernels / "6.12.patch").write_text(PATCH)
    (kernels / "config").write_text("# settings\nCONFIG_NET=y\n")
    (kernels / "added" / "arch" / "um").mkdir(parents=True)
    (kernels / "added" / "arch" / "um" / "router.c").write_text("/* of every kernel */\n")
    tree = tmp_path / "linux-6.12.5"
    (tree / "arch" / "um").mkdir(parents=True)
    (tree / "net" / "ipv4").mkdir(parents=True)
    (tree / "arch" / "um" / "Makefile").touch()
    (tree / "net" / "ipv4" / "Makefile").write_text("obj-y := tcp.o\n")
    (tree / "Makefile").write_text(MAKEFILE)
    (tree / "text").write_text("as released\n")
    monkeypatch.setattr(recipe, "KERNELS", kernels)
    monkeypatch.setattr(build, "reason_not", lambda: None)
    monkeypatch.setattr(build, "ROOM", 0)
    monkeypatch.setattr(boot, "congestion_controls", lambda _: ["reno", "cubic", "mine"])
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv(images.VARIABLE, raising=False)
    return tree


def archive_of(source: Path) -> Path:
    path = source.with_name(f"{source.name}.tar.xz")
    subprocess.run(["tar", "-cJf", path, "-C", source.parent, source.name], check=True)
    return path


def stock() -> Recipe:
    return Recipe(recipe.SERIES["6.12"])


def law_in(folder: Path, text: str = LAW) -> Law:
    path = folder / "mine.c"
    path.write_text(text)
    return Law.from_file(path)


def test_a_kernel_is_patched_compiled_and_found_by_series_and_by_name(source: Path) -> None:
    image = build.build(stock(), source, 1, print)
    program = image.path.read_text()
    assert "patched" in program and "as released" not in program
    assert "of every kernel" in program
    assert image.name == f"6.12.5-{stock().digest}"
    assert image.about["congestion_controls"] == ["reno", "cubic", "mine"]
    assert images.find() == images.find("6.12") == images.find(image.name) == image
    assert (source / "text").read_text() == "as released\n", "the user's own source was changed"
    assert images.remove(image.name) > 0
    with pytest.raises(RunError, match="`cwndlab linux build` makes one"):
        images.find()


def test_a_changed_law_is_compiled_in_the_kept_tree(source: Path, tmp_path: Path) -> None:
    said: list[str] = []
    archive = archive_of(source)
    first = build.build(Recipe(stock().series, laws=(law_in(tmp_path),)), archive, 1, said.append)
    assert "obj-y += mine.o" in first.path.read_text()
    assert any(line.startswith("unpacking") for line in said)
    said.clear()
    changed = Recipe(stock().series, laws=(law_in(tmp_path, LAW + "/* changed */\n"),))
    second = build.build(changed, archive, 1, said.append)
    assert "/* changed */" in second.path.read_text() and "/* changed */" not in first.path.read_text()
    assert not any(line.startswith(("copying", "unpacking", "downloading")) for line in said)
    (tree,) = images.sources_folder().iterdir()
    assert first.about["tree"] == second.about["tree"] == tree.name
    # the tree goes with the last kernel that needs it
    images.remove(first.name)
    assert tree.is_dir()
    images.remove(second.name)
    assert not tree.exists()


@pytest.mark.parametrize("patched", [False, True])
def test_laws_are_added_to_what_was_compiled_without_them(
    source: Path, tmp_path: Path, patched: bool
) -> None:
    archive, said = archive_of(source), list[str]()
    patch = tmp_path / "more.patch"
    patch.write_text(PATCH.replace("patched", "patched twice").replace("as released", "patched"))
    base = Recipe(stock().series, patches=(patch,) if patched else ())
    build.build(base, archive, 1, print)
    image = build.build(replace(base, laws=(law_in(tmp_path),)), archive, 1, said.append)
    assert "obj-y += mine.o" in image.path.read_text()
    assert not any(line.startswith("unpacking") for line in said)


def test_of_a_changed_folder_what_changed_is_compiled(source: Path, tmp_path: Path) -> None:
    build.build(stock(), source, 1, print)
    (tree,) = images.sources_folder().iterdir()
    (tree / "object").write_text("compiled")
    before = {name: (tree / name).stat().st_mtime_ns for name in ("text", "arch/um/Makefile")}
    (source / "text").write_text("as released\nand changed\n")
    os.utime(source / "text", (0, 0))  # such as of an older file in its place
    said: list[str] = []
    changed = build.build(Recipe(stock().series, laws=(law_in(tmp_path),)), source, 1, said.append)
    assert "and changed" in changed.path.read_text() and "obj-y += mine.o" in changed.path.read_text()
    assert "1 file changed since the last build of this folder" in said
    after = {name: (tree / name).stat().st_mtime_ns for name in before}
    assert after["text"] > before["text"] and after["arch/um/Makefile"] == before["arch/um/Makefile"]
    assert (tree / "object").is_file(), "what was compiled is gone"


def test_what_no_kernel_is_compiled_from_is_unpacked_for_patches_and_settings_only(
    source: Path, tmp_path: Path
) -> None:
    for name in (
        "drivers/gpu/drm/drm.c",
        "drivers/gpu/drm/Kconfig",
        "drivers/net/tun.c",
        "arch/arm/kernel/a.c",
    ):
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_text("x")
    archive = archive_of(source)
    facts = build.build(stock(), archive, 1, print).about
    found = {path.name for path in (images.sources_folder() / facts["tree"]).rglob("*")}
    assert {"Kconfig", "tun.c"} <= found and not {"drm.c", "a.c"} & found
    patch = tmp_path / "drm.patch"
    patch.write_text("--- a/drivers/gpu/drm/drm.c\n+++ b/drivers/gpu/drm/drm.c\n@@ -1 +1 @@\n-x\n+y\n")
    (source / "drivers/gpu/drm/drm.c").write_text("x\n")
    build.build(Recipe(stock().series, patches=(patch,)), archive_of(source), 1, print)


def test_a_law_that_does_not_compile_is_an_error_with_the_compilers_line(
    source: Path, tmp_path: Path
) -> None:
    (source / "Makefile").write_text(MAKEFILE.replace("test ! -e broken", "! grep -q oops linux"))
    archive = archive_of(source)
    wrong = Recipe(stock().series, laws=(law_in(tmp_path, LAW + "oops"),))
    with pytest.raises(RunError, match=r"compiling failed: net/ipv4/mine.c:3:1: error: expected identifier"):
        build.build(wrong, archive, 1, print)
    assert images.built_kernels() == []
    said: list[str] = []
    build.build(Recipe(stock().series, laws=(law_in(tmp_path),)), archive, 1, said.append)
    assert not any(line.startswith("unpacking") for line in said), "nothing that was compiled is lost"


def test_a_tree_of_another_source_is_not_taken_for_this_one(source: Path, tmp_path: Path) -> None:
    mine = Recipe(stock().series, laws=(law_in(tmp_path),))
    build.build(mine, archive_of(source), 1, print)
    (source / "net" / "ipv4" / "tcp.c").write_text("another source")
    assert "another source" in build.build(mine, archive_of(source), 1, print).path.read_text()


def test_a_kernel_that_does_not_offer_its_law_is_not_kept(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(boot, "congestion_controls", lambda _: ["reno", "cubic"])
    with pytest.raises(RunError, match="does not offer mine: is it registered"):
        build.build(Recipe(stock().series, laws=(law_in(tmp_path),)), source, 1, print)
    assert images.built_kernels() == []


def test_a_law_may_not_replace_a_file_of_linux(source: Path, tmp_path: Path) -> None:
    (source / "net" / "ipv4" / "mine.c").touch()
    with pytest.raises(RunError, match=r"Linux has net/ipv4/mine\.c already"):
        build.build(Recipe(stock().series, laws=(law_in(tmp_path),)), source, 1, print)


def test_a_law_may_not_have_the_name_of_one_of_linux(source: Path, tmp_path: Path) -> None:
    (source / "net" / "ipv4" / "tcp_mine.c").write_text(LAW)
    with pytest.raises(RunError, match="Linux has a law mine already"):
        build.build(Recipe(stock().series, laws=(law_in(tmp_path),)), source, 1, print)


def test_the_template_of_a_law_is_a_law_of_its_name(tmp_path: Path) -> None:
    path = write_law_c(str(tmp_path / "mine_too"))
    assert Law.from_file(path).names == ("mine_too",)
    assert "$" not in path.read_text()
    with pytest.raises(OutputError, match="exists already"):
        write_law_c(str(path))
    with pytest.raises(StudyError, match="not a name for the kernel"):
        write_law_c(str(tmp_path / "a-name"))


def test_a_patch_of_the_users_is_applied_after_cwndlabs(source: Path, tmp_path: Path) -> None:
    path = tmp_path / "more.patch"
    path.write_text(PATCH.replace("patched", "patched twice").replace("as released", "patched"))
    image = build.build(Recipe(stock().series, patches=(path,)), source, 1, print)
    assert "patched twice" in image.path.read_text()
    assert list(image.about["patches"]) == ["more.patch"]
    path.write_text(PATCH)
    with pytest.raises(RunError, match=r"applying .*more.patch failed"):
        build.build(Recipe(stock().series, patches=(path,)), source, 1, print)


def test_a_kernel_that_is_there_is_not_built_again(source: Path) -> None:
    image = build.build(stock(), source, 1, print)
    image.path.write_text(image.path.read_text() + "kept")
    assert "kept" in build.build(stock(), None, 1, print).path.read_text()
    assert "kept" not in build.build(stock(), source, 1, print).path.read_text(), "a folder may have changed"


def test_what_a_killed_build_left_is_removed(source: Path) -> None:
    left = images.kernels_folder() / ".building-x"
    left.mkdir(parents=True)
    build.build(stock(), source, 1, print)
    assert not left.exists()


def test_a_setting_that_the_source_does_not_take_is_an_error(source: Path) -> None:
    (source / "Makefile").write_text(MAKEFILE.replace("cp $(KCONFIG_ALLCONFIG) .config", "touch .config"))
    with pytest.raises(RunError, match="does not take CONFIG_NET=y"):
        build.build(stock(), source, 1, print)


@pytest.mark.parametrize(
    ("version", "series"), [("6.1.9", "6.1"), ("6.12.0", "6.12"), ("6.18.9", "6.12"), ("7.4", "7.3")]
)
def test_a_version_takes_the_patch_of_the_newest_series_before_it(version: str, series: str) -> None:
    assert recipe.series_of(version, "x").name == series


def test_versions_and_series_without_a_patch_are_rejected() -> None:
    with pytest.raises(RunError, match=r"5\.10 is too old; the oldest with a patch is 6\.1\b"):
        recipe.series_of("5.10", "x")
    for version, patch in (("6.5", "6.1"), ("6.11", "6.1"), ("6.18", "6.12"), ("7.4", "7.3")):
        right = rf"no series {version}, .*kernel PATH` takes a source of {version}, .* the patch for {patch},"
        with pytest.raises(RunError, match=right):
            recipe.series_named(version)
    with pytest.raises(RunError, match=r"5\.10 is too old; the oldest"):
        recipe.series_named("5.10")
    with pytest.raises(RunError, match="did you mean"):
        recipe.series_named("6.x")


def test_every_series_has_its_settings_and_a_patch() -> None:
    for series in recipe.SERIES.values():
        assert series.patch.read_text().startswith("--- a/arch/um/")
        assert "CONFIG_TCP_CONG_BBR=y" in series.config
    assert "CONFIG_PREEMPT_NONE=y" in recipe.SERIES["6.12"].config
    assert "CONFIG_PREEMPT_NONE=y" not in recipe.SERIES["7.3"].config
    assert "CONFIG_NET_SCH_DUALPI2=y" in recipe.SERIES["7.3"].config


def test_a_setting_of_the_users_replaces_ours() -> None:
    changed = Recipe(recipe.SERIES["6.12"], config=("TCP_CONG_BBR=n", "HZ=250"))
    assert "CONFIG_TCP_CONG_BBR=y" not in changed.settings
    assert {"CONFIG_TCP_CONG_BBR=n", "CONFIG_HZ=250"} <= set(changed.settings)
    assert changed.name_of("6.12.5") == f"6.12.5-TCP_CONG_BBR-n-HZ-250-{changed.digest}"
    assert changed.words == "6.12 with TCP_CONG_BBR=n, HZ=250" and stock().words == "6.12"
    assert changed.digest != stock().digest and stock().digest == stock().digest
    assert Path("arch/um/drivers/router_kern.c") in [place for _, place in recipe.added_files()]
    with pytest.raises(RunError, match="config CONFIG_HZ: KEY=y"):
        Recipe(recipe.SERIES["6.12"], config=("CONFIG_HZ",))


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("mine.c", "int main(void) { return 0; }", "no `struct tcp_congestion_ops`"),
        ("mine.py", LAW, "end in .c"),
        ("my law.c", LAW, "letters, digits and _"),
    ],
)
def test_what_is_no_law_is_rejected(tmp_path: Path, name: str, text: str, problem: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(RunError, match=problem):
        Law.from_file(tmp_path / name)


def test_a_law_has_the_names_that_it_registers(tmp_path: Path) -> None:
    two = LAW + LAW.replace("mine", "mine_too")
    assert law_in(tmp_path, two).names == ("mine", "mine_too")


def test_an_unknown_kernel_is_rejected_with_the_nearest(source: Path) -> None:
    name = build.build(stock(), source, 1, print).name
    with pytest.raises(RunError, match=name):
        images.find(name[:-1])


def test_what_is_no_kernel_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "linux"
    program.write_bytes(b"Linux version 6.12.1 but without what it needs")
    monkeypatch.setenv(images.VARIABLE, str(program))
    with pytest.raises(RunError, match="no User-Mode Linux with time travel"):
        images.find()
    program.write_bytes(b"Linux version 6.12.1-x (somebody) time-travel=inf-cpu")
    assert images.find().release == "6.12.1-x"


def test_the_last_words_of_a_guest_name_the_function_of_a_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "nm").write_text("#!/bin/sh\necho 6010 T first\necho 6020 t mine_cong_avoid\necho 6028 d data\n")
    (tools / "nm").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:/usr/bin:/bin")
    (tmp_path / boot.KERNEL).symlink_to(tools)
    said = "Kernel panic - not syncing: Kernel mode fault at addr 0x0, ip 0x602f"
    (tmp_path / "console").write_text(f"booted\n{said}\n")
    assert boot.last_words(tmp_path).endswith(f"{said} (mine_cong_avoid)")
    (tmp_path / "console").write_text("no such file\n")
    assert boot.last_words(tmp_path) == "no such file"


def test_a_build_says_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(RunError, match=r"apt-get install .*flex"):
        build.build(stock(), None, 1, print)


def test_a_source_that_is_none_is_refused_and_nothing_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build, "reason_not", lambda: None)
    monkeypatch.setattr(build, "ROOM", 0)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with pytest.raises(RunError, match="no such file"):
        build.build(stock(), tmp_path / "linux.tar.xz", 1, print)
    (tmp_path / "tree").mkdir()
    with pytest.raises(RunError, match="arch/um"):
        build.build(stock(), tmp_path / "tree", 1, print)
    assert list(images.kernels_folder().glob("*")) == []


def test_a_build_waits_for_another_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "reason_not", lambda: None)
    monkeypatch.setattr(build, "ROOM", 0)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    building = threading.Lock()

    def made(*_: object) -> None:
        assert building.acquire(blocking=False), "two at once"
        began.set()
        ends.wait(10)
        building.release()

    monkeypatch.setattr(build, "_build", made)
    began, ends, waits = threading.Event(), threading.Event(), threading.Event()
    first = threading.Thread(target=build.build, args=(stock(), None, 1, print))
    second = threading.Thread(target=build.build, args=(stock(), None, 1, lambda _: waits.set()))
    first.start()
    assert began.wait(10)
    second.start()
    assert waits.wait(10), "nothing said that another build is under way"
    ends.set()
    first.join(10)
    second.join(10)
    assert not building.locked() and not first.is_alive() and not second.is_alive()
