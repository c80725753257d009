#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
Two PyTorch programs that nobody changed for corun, which goals.py tells when to work: `infer` asks a network of six convolutions every 5 ms, `train` trains six
layers of 4096 x 4096 without a pause. The words on the standard input are those of goals.c.
"""
import sys
import threading
import time

import torch


def network(role):
    """One request: a forward pass, or a step of the training; both end with a wait."""
    torch.manual_seed(1)
    if role == "infer":
        layers, channels = [], 3
        for width in (64, 64, 128, 128, 256, 256):
            layers += [torch.nn.Conv2d(channels, width, 3, padding=1), torch.nn.BatchNorm2d(width), torch.nn.ReLU()]
            layers += [torch.nn.MaxPool2d(2)] if width > 64 else []
            channels = width
        model = torch.nn.Sequential(*layers, torch.nn.Flatten(), torch.nn.Linear(256 * 4 * 4, 10)).cuda().half().eval()
        x = torch.randn(4, 3, 64, 64, device="cuda", dtype=torch.half)

        def ask():
            with torch.no_grad():
                model(x)
            torch.cuda.synchronize()
        return ask
    model = torch.nn.Sequential(*[layer for _ in range(6) for layer in (torch.nn.Linear(4096, 4096), torch.nn.GELU())]).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    x = torch.randn(2048, 4096, device="cuda")
    torch.backends.cuda.matmul.allow_tf32 = True

    def step():
        optimizer.zero_grad()
        (model(x) ** 2).mean().backward()
        optimizer.step()
        torch.cuda.synchronize()
    return step


class Account:
    """What was done since the mark, under the lock; a thread hears what is asked, as a request may be held back for long."""
    def __init__(self):
        self.changed, self.runs, self.ends, self.due = threading.Condition(), False, False, 0.0
        self.forget()

    def forget(self):
        self.begun, self.service, self.latencies = time.perf_counter(), 0.0, []

    def tell(self):
        count, took = len(self.latencies), time.perf_counter() - self.begun
        text = f"requests {count} launches {count} seconds {took:.6f} service_s {self.service:.6f}"
        if count:
            self.latencies.sort()
            ranks = (("p50", count // 2), ("p90", count * 9 // 10), ("p99", count * 99 // 100), ("max", count - 1))
            text += "".join(f" {name}_us {self.latencies[rank] * 1e6:.2f}" for name, rank in ranks)
        print(text, flush=True)
        self.forget()

    def hear(self):
        for line in sys.stdin:
            with self.changed:
                if line.startswith("start"):
                    self.runs, self.due = True, time.perf_counter()
                    self.forget()
                else:
                    self.tell()
                    self.runs = self.runs and not line.startswith("stop")
                self.changed.notify()
        with self.changed:
            self.ends = True
            self.changed.notify()

    def goes_on(self):
        with self.changed:
            self.changed.wait_for(lambda: self.runs or self.ends)
            return not self.ends


def main():
    request, interval, account = network(sys.argv[1]), 0.005 if sys.argv[1] == "infer" else 0, Account()
    for _ in range(30 if interval else 3):
        request()
    threading.Thread(target=account.hear, daemon=True).start()
    while account.goes_on():
        while interval and time.perf_counter() < account.due:
            pass
        begun = time.perf_counter()
        request()
        ended = time.perf_counter()
        with account.changed:
            account.latencies.append(ended - (account.due if interval else begun))
            account.service += ended - begun
            account.due += interval

main()
