"""Types of the metrics' options, which are checked with the study."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import Field

#: A kind of object in the records.
Kind: TypeAlias = Literal["page", "file", "transaction", "object"]
#: Over `all` clients together, or each `client` on its own first.
Pool: TypeAlias = Literal["all", "client"]
#: What counts as transferred.
Transferred: TypeAlias = Literal["delivered", "completed"]
#: The serial number of a connection, or another number from 0 on.
Number: TypeAlias = Annotated[int, Field(ge=0)]
#: A position counted from 1.
Position: TypeAlias = Annotated[int, Field(ge=1)]
Seconds: TypeAlias = Annotated[float, Field(ge=0)]
#: The length of an interval in seconds; counters are kept at its edges.
Interval: TypeAlias = Annotated[float, Field(gt=0)]
#: A deviation relative to 1.
Tolerance: TypeAlias = Annotated[float, Field(gt=0, lt=1)]
