"""The Rust core: units, and the engine behind them."""

__all__ = [
    "check_scenario",
    "parse_bytes",
    "parse_rate",
    "parse_time",
    "tcp_knobs",
    "tcp_profile",
    "tcp_profiles",
    "version",
]

def version() -> str:
    """The version of the engine: part of every result's key in the store."""

def parse_time(text: str) -> int:
    """Nanoseconds from "50ms"; ValueError says what would be right."""

def parse_rate(text: str) -> int:
    """Bit/s from "1.5Mbps"; ValueError says what would be right."""

def parse_bytes(text: str) -> int:
    """Bytes from "64KiB"; ValueError says what would be right."""

def tcp_profiles() -> list[str]:
    """Names of the TCP profiles, in the order of their eras."""

def tcp_profile(name: str) -> str:
    """Every knob's value in the profile of that name, as JSON; ValueError names the profiles there are."""

def tcp_knobs() -> str:
    """Every knob: a JSON list of name, type, what it does, and the source of each profile's value."""

def check_scenario(json: str) -> None:
    """ValueError with the place and what would be right, if the scenario can't be run."""
