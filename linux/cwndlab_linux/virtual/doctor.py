"""Checks whether this machine can run `--backend linux-virtual`."""

from __future__ import annotations

from cwndlab.base.core import Check
from cwndlab.base.errors import CwndlabError, RunError
from cwndlab_linux.router_program import NOT_BUILT, can_build, installed_router

from . import boot, build, images


def examine() -> Check:
    """The check whether runs in virtual time work."""
    reason = reason_not_virtual()
    if reason is None:
        return Check("virtual time", True, f"User-Mode Linux {images.find().release}")
    return Check("virtual time", False, reason)


def reason_not_virtual() -> str | None:
    """Why this machine cannot run `--backend linux-virtual`; None if an idle guest could be started."""
    try:
        image = images.find()
    except CwndlabError as error:
        reason = build.reason_not()
        return f"{error}" + (f" (but first: {reason})" if reason else "")
    try:
        if router := installed_router():
            boot.library_of(router)
        elif not can_build():
            return NOT_BUILT
        boot.congestion_controls(image)
    except RunError as error:
        advice = "; allow ptrace (CAP_SYS_PTRACE in a container, kernel.yama.ptrace_scope below 3)"
        return f"{image.path} does not start here: {error}{advice if 'ptrace' in str(error) else ''}"
    return None
