"""`cwndlab doctor`: check what is installed and works."""

from __future__ import annotations

import typer

from cwndlab.cli.output import echo


def doctor() -> None:
    """Report what is installed and works, and what each extra would add."""
    from .installation import examine

    good = True
    for item in examine():
        good = good and (item.works or not item.required)
        echo(f"{'ok ' if item.works else 'no ' if item.required else '–  '} {item.name}: {item.detail}")
    if not good:
        raise typer.Exit(1)
