"""Who runs the command line in a test."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class User:
    """Who starts the command line, and a folder of theirs."""

    python: str
    folder: Path
    environment: dict[str, str]
    ids: dict[str, Any]

    def start(self, *words: str, **options: Any) -> subprocess.Popen[str]:
        """Starts `cwndlab WORDS`."""
        return subprocess.Popen(
            [self.python, "-m", "cwndlab", *words],
            env=self.environment,
            cwd=self.folder,
            text=True,
            **self.ids,
            **options,
        )
