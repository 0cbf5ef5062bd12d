"""Collects everything that is wrong with a study, so that one message names all of it."""

from __future__ import annotations

from types import TracebackType

from cwndlab.errors import StudyError

#: Errors that are reported at once.
MOST = 30


class Findings:
    """Used as a context, again and again: an error inside is noted, and what follows continues."""

    def __init__(self) -> None:
        self.errors: list[StudyError] = []
        self._places: set[object] = set()
        self._texts: set[str] = set()

    def __enter__(self) -> Findings:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if not isinstance(error, StudyError):
            return False
        self.note(error)
        return True

    def note(self, error: StudyError) -> None:
        """Notes an error, and those that it brings along; of several at one key the first."""
        for one in (error, *error.others):
            alone = one.without_others()
            text, place = str(alone), (one.file, one.key, one.line, one.column, one.path)
            if (place in self._places) if one.key or one.path else (text in self._texts):
                continue
            self._texts.add(text)
            self._places.add(place)
            self.errors.append(alone)

    def error(self) -> StudyError:
        """All that was found, of which there must be something, in the order of the file."""
        errors = {str(error): error for error in self.errors}.values()
        first, *others = sorted(errors, key=lambda e: (e.line is None, e.line or 0, e.column or 0))
        if len(others) >= MOST:
            kept = others[: MOST - 2]
            others = [*kept, StudyError(f"and {len(others) - len(kept)} more errors")]
        return first.replace(others=others)

    def report(self) -> None:
        """StudyError with all that was found, if anything was."""
        if self.errors:
            raise self.error()
