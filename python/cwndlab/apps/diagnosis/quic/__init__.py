"""What kept senders of QUIC from sending, by what their stacks logged."""
