"""The diagnosis of QUIC senders from the logs of their stacks."""
