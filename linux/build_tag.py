"""The tag of the wheel, which contains the router and so is for one platform."""

from __future__ import annotations

import os
import sysconfig
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class PlatformTag(BuildHookInterface[Any]):
    """Sets the wheel's platform: CWNDLAB_PLATFORM, which `tools/wheel.py` sets, or else this machine's."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Sets the tag, except for an editable installation, which needs none."""
        if version == "editable":
            return
        here = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["tag"] = f"py3-none-{os.environ.get('CWNDLAB_PLATFORM', here)}"
        build_data["pure_python"] = False
