"""Rejects misspelt attributes of a congestion control in Python, which would have no effect."""

from __future__ import annotations

import ast

from .errors import StudyError, similar
from .writing import join_words

#: Attributes of a congestion control's objects that the engine reads.
_OF_OBJECTS = ("cwnd_bytes", "ssthresh_bytes", "pacing_rate_bps", "timer_s")
#: Attributes and methods of its class that the engine reads.
_OF_CLASSES = (
    *("uses_slow_start", "owns_recovery", "uses_random", "ecn"),
    *("on_start", "on_ack", "on_loss", "on_timeout", "on_undo", "on_timer"),
)


def check_attributes(source: str, class_name: str, file: str) -> None:
    """StudyError if a class sets an attribute whose name is close to one that the engine reads."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ClassDef) and node.name == class_name:
            of_objects, of_classes = _stored(node), _defined(node)
            for name, line in of_objects.items():
                meant = _meant(name)
                if meant is not None and meant not in of_objects and name not in _OF_OBJECTS:
                    right = (
                        f"write self.{meant}, or name it differently; it can set {join_words(_OF_OBJECTS)}"
                    )
                    raise _error(f"self.{name}, which has no effect on the connection", file, line, right)
            for name, line in of_classes.items():
                meant = similar(name, _OF_CLASSES, 0.85)
                if meant is not None and meant not in of_classes and name not in _OF_CLASSES:
                    raise _error(f"{name}, which the engine does not read", file, line, f"write {meant}")


def _error(what: str, file: str, line: int, right: str) -> StudyError:
    return StudyError(f"{file}:{line}: sets {what}", key="--cc", right=right)


def _stored(tree: ast.ClassDef) -> dict[str, int]:
    """The attributes of `self` that a class assigns, each with the line of an assignment."""
    lines: dict[str, int] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            if isinstance(node.value, ast.Name) and node.value.id == "self":
                lines.setdefault(node.attr, node.lineno)
    return lines


def _defined(tree: ast.ClassDef) -> dict[str, int]:
    """The attributes and methods of a class, each with its line."""
    lines: dict[str, int] = {}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            lines[node.name] = node.lineno
        targets = node.targets if isinstance(node, ast.Assign) else ()
        targets = [node.target] if isinstance(node, ast.AnnAssign) else targets
        lines |= {target.id: node.lineno for target in targets if isinstance(target, ast.Name)}
    return lines


def _meant(attribute: str) -> str | None:
    """The attribute that was probably meant: one with the same first words, or with similar spelling."""
    plain = attribute.lower().strip("_")
    for name in _OF_OBJECTS:
        stem = name.rpartition("_")[0]
        begins = plain.startswith(f"{stem}_") and stem != "timer"  # a law may have its own `timer_count`
        if plain in (stem, name) or begins or plain == stem.replace("_", ""):
            return name
    return similar(plain, _OF_OBJECTS, 0.85)
