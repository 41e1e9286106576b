"""Carries connections out of a private network to one address.

A host runs it with any Python 3. `in HOST PORT` listens there for the agent, `out HOST PORT`
connects there. In between is a socket of this folder.
"""

import contextlib
import socket
import sys
import threading
import time
from pathlib import Path

BETWEEN = "gateway"


def pump(source: socket.socket, sink: socket.socket) -> None:
    """Carry all bytes one way, and then its end."""
    try:
        data = source.recv(65536)
        while data:
            sink.sendall(data)
            data = source.recv(65536)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        for each in (source, sink):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)


def carry(near: socket.socket, way: str, host: str, port: int) -> None:
    """Carry one connection until both ways have ended."""
    try:
        far = reach(way, host, port)
    except OSError:
        near.close()
        return
    back = threading.Thread(target=pump, args=(far, near), daemon=True)
    back.start()
    pump(near, far)
    back.join()
    near.close()
    far.close()


def reach(way: str, host: str, port: int) -> socket.socket:
    """Connect to the other half, or to the address."""
    if way == "out":
        return socket.create_connection((host, port))
    made = socket.socket(socket.AF_UNIX)
    made.connect(BETWEEN)
    return made


def listen(way: str, host: str, port: int) -> socket.socket:
    """Listen for the agent, or for the other half."""
    if way == "out":
        made = socket.socket(socket.AF_UNIX)
        made.bind(BETWEEN)
    else:
        raise_loopback()
        made = socket.socket(socket.AF_INET)
        made.bind((host, port))
    made.listen(128)
    return made


def raise_loopback() -> None:
    """Switch the loopback of a new network on."""
    import fcntl
    import struct

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, 0x8914, struct.pack("16sH14x", b"lo", 0x1))


def main(way: str, host: str, port: int) -> None:
    """Serve until somebody ends this."""
    listener = listen(way, host, port)
    if way == "in":
        for _ in range(1000):
            if Path(BETWEEN).exists():
                break
            time.sleep(0.01)
        sys.stdout.write("listening\n")
        sys.stdout.flush()
    while True:
        near, _ = listener.accept()
        threading.Thread(target=carry, args=(near, way, host, port), daemon=True).start()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
