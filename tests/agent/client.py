# SPDX-License-Identifier: MIT
"""A program's side of the agent's socket, in Python, for tests: the messages of include/corun/service_messages.h."""
import socket
import struct
import time

HELLO, WELCOME, ARRIVE, START, BEGIN, PROGRESS, END, WORK, WATCH, STATUS, BYE = range(1, 12)
SERVES, BATCH = 0, 1


class Client:
    def __init__(self, path, name=None, workers=1, role=SERVES, protocol=1):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(20)
        self.socket.connect(str(path))
        if name is not None:
            self.send(struct.pack("4I64s", HELLO, protocol, role, workers, name.encode()))
            self.answer = self.hear()

    def send(self, message):
        self.socket.send(message)

    def hear(self):
        """(kind, rest) of the next message; None at the end."""
        message = self.socket.recv(65536)
        return (struct.unpack_from("I", message)[0], message[4:]) if message else None

    def arrive(self, query, size=1.0, at=0):
        self.send(struct.pack("2IQdQ", ARRIVE, 0, query, size, at))

    def started(self):
        kind, rest = self.hear()
        if kind == BYE:
            raise ConnectionError(rest[4:].rstrip(b"\0").decode())
        cores, query = struct.unpack("=IQ", rest)
        return query, cores

    def begin(self, query, threads=()):
        self.send(struct.pack(f"2IQ{len(threads)}i", BEGIN, len(threads), query, *threads))

    def progress(self, query, progress):
        self.send(struct.pack("2IQd", PROGRESS, 0, query, progress))

    def end(self, query, at=0):
        self.send(struct.pack("2IQQ", END, 0, query, at))

    def work(self, work):
        self.send(struct.pack("2Id", WORK, 0, work))

    def goodbye(self):
        """The reason why the agent ends the connection."""
        while True:
            heard = self.hear()
            if heard is None:
                return None
            if heard[0] == BYE:
                return heard[1][4:].rstrip(b"\0").decode()

    def answer_queries(self, count, size=1.0, seconds=0.0):
        for query in range(count):
            self.arrive(query, size)
            assert self.started()[0] == query
            time.sleep(seconds)
            self.end(query)

    def close(self):
        self.socket.close()
