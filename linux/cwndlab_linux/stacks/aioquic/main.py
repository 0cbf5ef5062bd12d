"""A server that sends, and a client that receives, over one stream of aioquic.

server ADDRESS PORT LAW CERTIFICATE KEY
client ADDRESS PORT BYTES
"""

import asyncio
import ssl
import sys

from aioquic.asyncio import QuicConnectionProtocol, serve
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.connection import QuicConnection
from aioquic.quic.events import ConnectionTerminated, StreamDataReceived

PROTOCOL = ["cwndlab"]
#: What waits on a stream at most.
WAITING = 1 << 20


class Sender(QuicConnectionProtocol):
    """Answers a request of eight bytes, how many bytes are wanted, where 0 is without end."""

    def quic_event_received(self, event):
        if isinstance(event, StreamDataReceived) and event.data:
            wanted = int.from_bytes(event.data, "big")
            self.left = wanted or float("inf")
            self.stream = event.stream_id
            self.fill()

    def datagram_received(self, data, addr):
        super().datagram_received(data, addr)
        self.fill()

    def fill(self):
        """Writes while less waits than `WAITING`."""
        if not getattr(self, "left", 0):
            return
        sender = self._quic._streams[self.stream].sender
        room = WAITING - len(sender._buffer)
        size = int(min(room, self.left))
        if size > 0:
            self.left -= size
            self._quic.send_stream_data(self.stream, bytes(size), end_stream=not self.left)
            self.transmit()


class Receiver(QuicConnectionProtocol):
    """Counts what it receives."""

    def quic_event_received(self, event):
        if isinstance(event, StreamDataReceived):
            self.received = getattr(self, "received", 0) + len(event.data)
            if event.end_stream:
                self.ended.set()
        elif isinstance(event, ConnectionTerminated):
            self.ended.set()


async def main(role, address, port, *more):
    if role == "server":
        law, certificate, key = more
        configuration = QuicConfiguration(
            is_client=False, alpn_protocols=PROTOCOL, congestion_control_algorithm=law
        )
        configuration.load_cert_chain(certificate, key)
        await serve(address, port, configuration=configuration, create_protocol=Sender)
        await asyncio.Event().wait()
    configuration = QuicConfiguration(alpn_protocols=PROTOCOL, verify_mode=ssl.CERT_NONE)
    connection = QuicConnection(configuration=configuration)
    # `aioquic.asyncio.connect` wants IPv6, which the guest does not have.
    _, protocol = await asyncio.get_running_loop().create_datagram_endpoint(
        lambda: Receiver(connection), remote_addr=None, local_addr=("0.0.0.0", 0)
    )
    protocol.ended = asyncio.Event()
    protocol.connect((address, port))
    await protocol.wait_connected()
    request = int(more[0]).to_bytes(8, "big")
    connection.send_stream_data(connection.get_next_available_stream_id(), request, end_stream=True)
    protocol.transmit()
    await protocol.ended.wait()
    print(protocol.received, "bytes", file=sys.stderr)
    protocol.close()


asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3]), *sys.argv[4:]))
