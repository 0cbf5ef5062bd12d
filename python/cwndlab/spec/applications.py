"""The kinds of applications."""

from __future__ import annotations

from collections.abc import Mapping

from .described import Kind

_SIZE: Mapping[str, object] = {"kind": "fixed", "value": 1000.0}
_FIRST = "from its start to its first connection (or packet)"
_CLOSES = 'when the server closes: "with-response", with the FIN on its last segment, or "after-response"'
_CLOCK = 'when its delays begin: "syn" or "request"'
_SENDER = {
    "ecn": 'codepoint of its packets: "not-ect", "ect0" or "ect1"',
    "from": 'the sending end: "client" or "server"',
    "first": "from its start to its first packet",
    "duration": "from the first packet on; without it, to the end of the run",
}
_PACKET = "an IP packet, its headers included; may be a distribution"
#: What the engine leaves out where it is not given.
_GIVEN: Mapping[str, object] = {"rate_bps": 8000, "duration_s": _SIZE}
_RATE = {"rate": "of IP packets, headers included", "packet": _PACKET}

APPLICATIONS: Mapping[str, Kind] = {
    "bulk": Kind(
        "One transfer on one connection.",
        "",
        "applications",
        {
            "bytes": "size of the transfer; without it and `segments` it has no end",
            "segments": "the same in full segments",
            "from": 'the sending end: "client" or "server"',
            "read_rate": "rate at which the receiving application reads; without it, at once",
            "first": _FIRST,
        },
        {"read_rate_bps": 1_000_000, "first_s": _SIZE},
    ),
    "ftp": Kind(
        "Files one after another, each on a connection of its own.",
        "",
        "applications",
        {
            "file": "size of a file; may be a distribution",
            "request": "size of a request",
            "clock": _CLOCK,
            "pause": "from a file's last byte to the next connection",
            "first": _FIRST,
            "server_closes": _CLOSES,
            "files": "stop after so many",
        },
        {"file_bytes": _SIZE},
    ),
    "web": Kind(
        "Pages one after another, with time to read between them.",
        "",
        "applications",
        {
            "protocol": '"http/1.0", a connection for each object, or "http/1.1", one for each page',
            "object": "size of an object; may be a distribution",
            "inline": "size of an in-line object; without it, as `object`",
            "request": "size of a request",
            "inline_objects": "in-line objects of a page",
            "think": "from a page's last byte to the next page",
            "first": _FIRST,
            "clock": _CLOCK,
            "inline_trigger": 'what makes the client ask for them: "first-packet" or "whole-primary"',
            "record_objects": "whether every object is recorded besides its page",
            "server_closes": _CLOSES,
            "pages": "stop after so many",
        },
        {
            "protocol": "http/1.0",
            "object_bytes": _SIZE,
            "request_bytes": _SIZE,
            "think_s": _SIZE,
            "clock": "syn",
            "inline_trigger": "whole-primary",
        },
    ),
    "crr": Kind(
        "Connect, request, response, close; then at once again.",
        "netperf's TCP_CRR",
        "applications",
        {
            "request": "size of a request; may be a distribution",
            "response": "size of a response; may be a distribution",
            "ends": 'when a transaction ends: "closed", by the server\'s FIN, or "response"',
            "first": _FIRST,
            "server_closes": _CLOSES,
            "transactions": "stop after so many",
        },
        {"request_bytes": _SIZE, "response_bytes": _SIZE},
    ),
    "rr": Kind(
        "Requests and responses in turn over one connection.",
        "netperf's TCP_RR",
        "applications",
        {
            "request": "size of a request; may be a distribution",
            "response": "size of a response; may be a distribution",
            "think": "from a response's last byte to the next request",
            "first": _FIRST,
            "transactions": "stop after so many",
        },
        {"request_bytes": _SIZE, "response_bytes": _SIZE},
    ),
    "short-flows": Kind(
        "Transfers that arrive as a Poisson process, each on a connection of its own.",
        "",
        "applications",
        {
            "arrival_rate": "transfers per second in the mean",
            "flow": "size of a transfer; may be a distribution",
            "from": 'the sending end: "client" or "server"',
            "first": "from its start to the beginning of the process",
            "flows": "stop after so many",
        },
        {"arrival_rate": 1.0, "flow_bytes": _SIZE},
    ),
    "cbr": Kind("Datagrams of a constant bit rate.", "", "applications", {**_RATE, **_SENDER}, _GIVEN),
    "on-off": Kind(
        "Bursts of datagrams of a constant bit rate, and silence between them.",
        "",
        "applications",
        {
            **_RATE,
            **_SENDER,
            "on": "length of a burst; may be a distribution",
            "off": "length of the silence",
        },
        {**_GIVEN, "on_s": _SIZE, "off_s": _SIZE},
    ),
    "poisson": Kind("Datagrams of a Poisson process.", "", "applications", {**_RATE, **_SENDER}, _GIVEN),
    "voip": Kind(
        "One way of a voice call, by default of G.711.",
        "RFC 3551",
        "applications",
        {
            "packet": _PACKET,
            **_SENDER,
            "interval": "from a packet to the next",
            "talk": "length of a talkspurt, with silence suppression",
            "silence": "length of the silence between talkspurts",
        },
        {"duration_s": _SIZE, "talk_s": _SIZE, "silence_s": _SIZE},
    ),
    "video": Kind(
        "One way of a video call: frames whose sizes and distances scatter.",
        "syncodecs, the code of the authors of RFC 8593",
        "applications",
        {
            "packet": "the largest IP packet, its headers included",
            **_SENDER,
            "encoded_rate": "rate of the video, without headers",
            "frame_rate": "frames per second",
            "size_scale": "scale of the Laplace distribution of a frame's size, as a share of the mean",
            "interval_scale": "the same of the time from a frame to the next",
            "shaped": "whether a frame's packets are spread over the time to the next, or sent at once",
        },
        {"encoded_rate_bps": 8000, "duration_s": _SIZE},
    ),
}
