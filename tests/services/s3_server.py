"""An S3 on the loopback: moto's, which stores objects in this process."""

import http.client
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime

from moto.s3.models import s3_backends
from moto.server import ThreadedMotoServer

ADDRESS = "127.0.0.1"

# It asks for a signature, but does not verify it.
SIGNED = {
    "Authorization": "AWS4-HMAC-SHA256 Credential=somebody/20260101/us-east-1/s3/aws4_request, "
    "SignedHeaders=host, Signature=0"
}


class S3Server:
    """A server of the protocol, and what others may do there."""

    def __init__(self, port: int) -> None:
        self._port = port
        self.endpoint = f"http://{ADDRESS}:{port}"

    def request(self, method: str, path: str, body: bytes = b"") -> bytes:
        """What it answers to a request of somebody else."""
        connection = http.client.HTTPConnection(ADDRESS, self._port, timeout=10)
        try:
            connection.request(method, path, body, SIGNED)
            answer = connection.getresponse()
            assert answer.status < http.client.MULTIPLE_CHOICES, answer.read()
            return answer.read()
        finally:
            connection.close()

    @contextmanager
    def closed_to_strangers(self) -> Iterator[None]:
        """While this is open, it refuses keys that it does not know: all."""
        self.request("POST", "/moto-api/reset-auth", b"0")
        try:
            yield
        finally:
            self.request("POST", "/moto-api/reset-auth", b"inf")

    def stored(self, bucket: str, name: str, at: datetime) -> None:
        """Let an object have been stored at that moment."""
        (account,) = s3_backends.values()
        account["aws"].buckets[bucket].keys[name].last_modified = at.replace(tzinfo=None)


@contextmanager
def s3_server() -> Iterator[S3Server]:
    """The server, without buckets, until the context ends."""
    server = ThreadedMotoServer(ip_address=ADDRESS, port=0, verbose=False)
    server.start()
    try:
        yield S3Server(server.get_host_and_port()[1])
    finally:
        server.stop()
