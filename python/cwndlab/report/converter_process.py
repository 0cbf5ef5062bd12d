"""The process of the converter: answers requests for vl-convert's functions until its input ends.

It runs as a file, not as a module of the package, so that starting it imports nothing else. A request is a
line of JSON (function, source, options). An answer is a line with 1 or 0 and a length, and as many bytes:
what the function made, or its error.
"""

from __future__ import annotations

import json
import os
import sys
from typing import BinaryIO

import vl_convert


def serve(requests: BinaryIO, answers: BinaryIO) -> None:
    """Answers each request in turn."""
    for request in requests:
        function, source, options = json.loads(request)
        try:
            made = getattr(vl_convert, function)(source, **options)
            done, answer = 1, made.encode() if isinstance(made, str) else bytes(made)
        except Exception as error:
            done, answer = 0, str(error).encode()
        answers.write(b"%d %d\n" % (done, len(answer)) + answer)
        answers.flush()


if __name__ == "__main__":
    to_asker = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what the engine prints is no answer
    vl_convert.get_local_tz()  # the cheapest of its functions that need the engine
    try:
        serve(sys.stdin.buffer, to_asker)
    except OSError:
        pass  # who asked has ended
    os._exit(0)  # without waiting for the engine's threads
