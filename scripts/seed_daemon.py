#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Seeds of fuzz_daemon, fuzz_handover, fuzz_client and fuzz_shim: scripts/seed_daemon.py NAME FOLDER

What the bytes mean is at the head of fuzz/fuzz_daemon.c and fuzz/fuzz_handover.c, and in fuzz/lying_daemon.h. Numbers of messages are those of src/wire/messages.def.
"""
import pathlib
import re
import struct
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
NAMES = re.findall(r"^FROM_\w+\((\w+),", (ROOT / "src/wire/messages.def").read_text(), re.MULTILINE)
HAS_TAIL = {"MODULE", "LAUNCH", "POLICY"}
BUFFER = (1 << 40) + 0x201000  # the first allocation of the first space


def text(word):
    return word.encode().ljust(64, b"\0")


def message(client, name, body, tail=b""):
    head = bytes([client + 3 * NAMES.index(name)])
    return head + (bytes([len(tail)]) if name in HAS_TAIL else b"") + body + tail


def join(client, name, gpu="", goal=0, value=0.0):
    return message(client, "JOIN", struct.pack("<6I2d", 0, 0, goal, 0, 0, 0, value, 400.0) + text(name) + text(gpu))


def begin(client, name, space, gpu=""):
    """Up to a program that can launch."""
    address = ((space + 1) << 40) + 0x201000
    return (join(client, name, gpu) + message(client, "CONTEXT", bytes(4)) + message(client, "ALLOCATE", struct.pack("<2I2Q", space, 0, address, 4096)) +
            message(client, "NAME", struct.pack("<2IQ", space, 0, address) + text("values")) +
            message(client, "MODULE", struct.pack("<3I", space, 0, 0) + text("code.ptx")) + message(client, "ENTER", struct.pack("<I", space)))


def launch(client, space):
    address = ((space + 1) << 40) + 0x201000
    return message(client, "LAUNCH", struct.pack("<3I6IIiI2Q", space, 0, 0, 4, 1, 1, 32, 1, 1, 0, 0, 0, 0, 0), struct.pack("<Q", address))


def wait(client, until=2**64 - 1):
    return message(client, "WAIT", struct.pack("<2Q", until, until))


def daemon():
    first = begin(0, "one", 0, "0")
    yield "launch", first + launch(0, 0) + wait(0) + message(0, "LIST", bytes(4))
    yield "two", first + begin(1, "two", 0, "1") + launch(0, 0) + launch(1, 0) + wait(0) + wait(1) + wait(0)
    yield "together", first + begin(1, "two", 1, "0") + launch(0, 0) + launch(1, 1) + wait(1) + wait(0)
    yield "goals", first + message(0, "GOAL", struct.pack("<2Id", 0, 1, 0.5)) + message(0, "GOAL", struct.pack("<2Id", 1, 2, 30.0)) + \
        message(0, "POLICY", struct.pack("<I", 2**32 - 1), b"even") + message(0, "POLICY", struct.pack("<I", 1), b"smk") + launch(0, 0) + wait(0)
    yield "runs", first + message(0, "RUN", struct.pack("<Q2I", 500, 0, 0)) + message(0, "RUN", struct.pack("<Q2I", 600, 1, 0)) + \
        message(0, "COPY", struct.pack("<2I2Q", 1, 0, 0, 1000)) + wait(0, 1000)
    for until in 1000, 2**64 - 1:
        idle = message(0, "IDLE", struct.pack("<Q", until))
        yield f"idle-{until % 1001}", first + begin(1, "two", 1, "0") + launch(0, 0) + launch(1, 1) + idle + wait(1) + wait(0) + idle + idle + wait(1)
        yield f"goes-idle-{until % 1001}", first + begin(1, "two", 1, "0") + idle + bytes([80 * 3]) + launch(1, 1) + wait(1)
    yield "memory", first + message(0, "FREE", struct.pack("<2IQ", 0, 0, BUFFER) + text("cudaFree")) + \
        message(0, "ALLOCATE", struct.pack("<2I2Q", 0, 1, BUFFER, 8192)) + message(0, "LEAVE", struct.pack("<I", 0)) + \
        message(0, "CONTEXT_GONE", struct.pack("<I", 0))


def handover():
    yield "whole", b""
    for cut in (0, 100, 4000, 16000, 20000):
        yield f"cut-{cut}", struct.pack(">H", cut)
    for at in (0, 4, 270, 272, 280, 284, 290, 300, 16500, 16520, 16530, 16536, 16540, 16600):
        yield f"changed-{at}", struct.pack(">HHB", 65535, at, 255) + struct.pack(">HB", at + 1, 1)


def answer(name, tail=0, file=255):
    """A message of a corund, with the file of that number behind it."""
    return bytes([NAMES.index(name), tail, file, 0])


def answers(*names):
    return b"".join(answer(name) for name in names)


def client():
    asked = answers("NODE") + answer("CLIENT", 240) + answers("CLIENT", "DONE")
    for who in range(5):
        yield f"asks-{who}", bytes([who]) + asked + asked
    context, launched = answer("PLACE", 0, 0), answers("PLACE", "DONE", "PLACE", "LAUNCHED")
    steps = bytes([0, 0, 1, 2, 3, 4, 5, 6, 4, 3, 4, 7, 16, 16, 17, 18, 19, 20, 4, 4, 6, 5, 7, 23])
    yield "runs", bytes([5]) + steps + answers("WELCOME") + context + launched + answers("ENDED", "TIME", "PLACE", "DONE") + \
        answer("MESSAGE", 9) + answer("PRINT", 9) + answers("TIME", "LAUNCHED", "TIME", "DONE") + context + launched + answers("DONE", "DONE", "DONE")
    steps = bytes([0, 14, 4, 14, 15, 15, 14, 6, 14, 14] + [4] * 14)
    yield "idle", bytes([5]) + steps + answers("WELCOME") + context + answers("TIME", "TIME", "TIME", "TIME", "TIME", "DONE", "TIME", "TIME", "TIME")


def shim():
    steps = bytes([6, 14, 0, 2, 1, 7, 3, 2, 0, 0, 0, 2])
    yield "joins", steps + answer("BOARD", 0, 0) + answers("ROOM", "DONE", "ROOM", "DONE")
    yield "refused", steps + answer("REFUSED", 20)


SEEDS = {"fuzz_daemon": daemon, "fuzz_handover": handover, "fuzz_client": client, "fuzz_shim": shim}

if __name__ == "__main__":
    folder = pathlib.Path(sys.argv[2])
    for seed, data in SEEDS[sys.argv[1]]():
        (folder / f"seed-{seed}").write_bytes(data)
