#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
A corund that says what cannot be: programs tell of it and end, or go on; none of them crashes.

    test_liar.py CORUN PROGRAMS TEST...

Somebody stands between program and corund, and changes single messages of the latter. fuzz/fuzz_client.c and fuzz/fuzz_shim.c try whatever there is.
"""
import os
import pathlib
import signal
import socket
import struct
import sys
import threading
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from test_daemon import PROGRAMS, Daemon  # pylint: disable=wrong-import-position
from test_hardware import NUMBER  # pylint: disable=wrong-import-position

NAME_OF = {number: name for name, number in NUMBER.items()}
TWO_CONTEXTS = """
import ctypes as c
d, v = c.CDLL("libcuda.so.1"), c.c_void_p
first, second, address, word = v(), v(), c.c_uint64(), c.c_uint(7)
print(d.cuInit(0), d.cuCtxCreate_v2(c.byref(first), 0, 0), d.cuMemAlloc_v2(c.byref(address), 4096))
print(d.cuCtxCreate_v2(c.byref(second), 0, 0) != 0, d.cuCtxSetCurrent(first))
print(d.cuMemcpyHtoD_v2(address, c.byref(word), 4), d.cuMemcpyDtoH_v2(c.byref(word), address, 4), word.value)
"""


class Liar:
    """What comes from corund goes through `change`, which gets a message's name, how many of that name came before, and its body and file, and gives these."""

    def __init__(self, path, below, change):
        self.below, self.change, self.counts = str(below), change, {}
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(path))
        self.listener.listen(8)
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            daemon = socket.socket(socket.AF_UNIX)
            daemon.connect(self.below)
            threading.Thread(target=self.between, args=(client, daemon), daemon=True).start()

    def between(self, client, daemon):
        with client, daemon:
            thread = threading.Thread(target=self.forward, args=(client, daemon), daemon=True)
            thread.start()
            self.lie(daemon, client)
            thread.join()

    @staticmethod
    def forward(client, daemon):
        try:
            while data := client.recv(65536):
                daemon.sendall(data)
        except OSError:
            pass
        try:
            daemon.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass

    def lie(self, daemon, client):
        held, files = b"", []
        try:
            while True:
                data, more, *_ = socket.recv_fds(daemon, 65536, 1)
                if not data:
                    break
                held, files = held + data, files + more
                while len(held) >= 8 and len(held) >= 8 + struct.unpack_from("I", held, 4)[0]:
                    number, size = struct.unpack_from("II", held)
                    body, held = held[8:8 + size], held[8 + size:]
                    name = NAME_OF[number]
                    before = self.counts.get(name, 0)
                    self.counts[name] = before + 1
                    file = files.pop() if files else None
                    body, file = self.change(name, before, body, file)
                    data = struct.pack("II", number, len(body)) + body
                    if file is None:
                        client.sendall(data)
                    else:
                        socket.send_fds(client, [data], [file])
                        os.close(file)
            client.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


class Lies(Daemon):
    def lie(self, change, program, *words):
        """What becomes of a program whose corund lies."""
        self.start_daemon()
        path = self.folder / "liar"
        path.unlink(missing_ok=True)
        liar = Liar(path, self.socket, change)
        self.addCleanup(liar.listener.close)
        done = self.end(self.share(program, "--socket", str(path), words=words))
        self.assertGreaterEqual(done[0], 0, done)
        self.assertLess(done[0], 128, done)  # what a shell says of signals
        self.stop_daemon()
        return done

    def test_gpu(self):
        """A GPU without SMs, or with a name that does not end."""
        for place, value in ((8 + 64, bytes(400)), (8, b"x" * 64)):
            status, _, said = self.lie(lambda name, before, body, file, place=place, value=value: (
                body[:place] + value + body[place + len(value):] if name == "WELCOME" else body, file), PROGRAMS / "vector_add")
            self.assertNotEqual(status, 0)
            self.assertIn(b"no GPU can be as corund says that its own is", said)

    def test_memory(self):
        """A file that is too short, or may become so: the first access would end the program."""
        def short(name, before, body, file):
            if name == "PLACE" and file is not None:
                os.close(file)
                file = os.memfd_create("short", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
                os.truncate(file, 4096)
            return body, file

        def open_to_change(name, before, body, file):
            if name == "PLACE" and file is not None:
                size = os.fstat(file).st_size
                os.close(file)
                file = os.memfd_create("unsealed", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
                os.truncate(file, size)
            return body, file
        for change in short, open_to_change:
            self.assertNotEqual(self.lie(change, PROGRAMS / "vector_add")[0], 0)

    def test_same_memory_twice(self):
        """The place of the first context for the second one: that gets none, and the first one stays."""
        files = []

        def again(name, before, body, file):
            if name == "PLACE" and file is not None:
                files.append(file)
                if len(files) == 2:
                    body = body[:8] + struct.pack("Q", 0) + body[16:]
            return body, file
        status, out, said = self.lie(again, "/usr/bin/python3", "-c", TWO_CONTEXTS)
        self.assertEqual((status, out), (0, b"0 0 0\nTrue 0\n0 0 7\n"), said)

    def test_statuses(self):
        """Numbers of errors that there are not."""
        for wanted in "DONE", "PLACE", "LAUNCHED", "ENDED", "TIME":
            offset = 8 if wanted == "ENDED" else 0

            def wrong(name, before, body, file, wanted=wanted, offset=offset):
                if name == wanted and before >= 1:
                    body = body[:offset] + struct.pack("I", 0x7ffffff0) + body[offset + 4:]
                return body, file
            with self.subTest(wanted):
                status, _, said = self.lie(wrong, PROGRAMS / "heat")
                self.assertNotEqual(status, 0, said)

    def test_time(self):
        """That goes back."""
        def back(name, before, body, file):
            return (body[:8] + bytes(8) if name == "TIME" and before == 2 else body), file
        status, _, said = self.lie(back, PROGRAMS / "heat")
        self.assertNotEqual(status, 0)
        self.assertIn(b"the connection to corund is gone", said)


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
