"""The causes of waits, in words."""

from __future__ import annotations

#: A description of each cause.
CAUSES = {
    "lost-syn": "a SYN or SYN-ACK was lost, and its timer had to expire",
    "refused": "the connection was refused, and the host tried again",
    "handshake": "the handshake was not finished",
    "rto-few-dupacks": "a loss with too few duplicate ACKs for a fast retransmit, so a timeout was needed",
    "lost-retransmission": "a retransmission was lost, too, so a timeout was needed",
    "spurious-rto": "a spurious timeout: nothing was lost",
    "rto": "a retransmission timeout was needed",
    "policer": "a policer had dropped segments",
    "ecn-one-segment": "an ECN echo at a cwnd of one segment: the sender waits for its retransmission timer",
    "probe": "the timer of a tail loss probe had to expire",
    "recovery": "losses were being repaired, without a timeout",
    "zero-window": "the receive window was closed: the receiver's application did not read",
    "small-window": "the receive window had less room than a segment: the receiver reads slowly",
    "receive-window": "the receive window was full: the receiver's buffer is too small for the path",
    "nagle-delayed-ack": "a small segment waited for an ACK (Nagle), and the receiver delayed that ACK",
    "nagle": "a small segment waited for an ACK (Nagle)",
    "application": "the application had written nothing to send",
    "pacing": "the sender's pacer held the next segment back",
    "send-buffer": "the sender's buffer was full: it is too small for the path",
    "max-window": "the sender's configured largest window was full",
    "cwnd": "the congestion window was full",
    "persistent-congestion": "the congestion window was full: persistent congestion had made it so small",
    "pto": "a probe timeout of QUIC had to expire",
    "flow-connection": "the peer had granted no more data of the connection (flow control, MAX_DATA)",
    "flow-stream": "the peer had granted no more data of the stream (flow control, MAX_STREAM_DATA)",
    "stream-limit": "the peer had permitted no further stream (MAX_STREAMS)",
    "amplification": "the peer's address was not validated, so little may be sent",
    "scheduling": "the stack was busy with other connections or streams",
    "blocked": "the stack was blocked, and does not say by what",
    "unknown": "packets of that time are not in the capture, or its clock was set",
}
#: Causes that belong to a healthy transfer, or that explain nothing.
ORDINARY = ("handshake", "cwnd", "pacing", "unknown")
