#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
Two PyTorch programs that nobody changed for corun: a small network of convolutions is asked every 5 ms, and a large one of linear layers is trained until
that has ended.

    share_torch.py train FOLDER SECONDS & share_torch.py infer FOLDER SECONDS wait

They tell each other by files in FOLDER when to begin and to end. The fourth word of `train`, any, is for a run without the other one.
"""
import os
import sys
import time

import torch
role, folder, seconds = sys.argv[1], sys.argv[2], float(sys.argv[3])
begin, end = os.path.join(folder, "begin"), os.path.join(folder, "end")
torch.manual_seed(1)
if role == "infer":
    layers = []
    channels = 3
    for width in (64, 64, 128, 128, 256, 256):
        layers += [torch.nn.Conv2d(channels, width, 3, padding=1), torch.nn.BatchNorm2d(width), torch.nn.ReLU()] + ([torch.nn.MaxPool2d(2)] if width > 64 else [])
        channels = width
    model = torch.nn.Sequential(*layers, torch.nn.Flatten(), torch.nn.Linear(256 * 4 * 4, 10)).cuda().half().eval()
    x = torch.randn(4, 3, 64, 64, device="cuda", dtype=torch.half)
    times = []
    with torch.no_grad():
        for _ in range(30):
            y = model(x)
        torch.cuda.synchronize()
        while role == "infer" and len(sys.argv) > 4 and not os.path.exists(os.path.join(folder, "trains")):
            time.sleep(0.05)
        open(begin, "w").close()
        start = due = time.perf_counter()
        while due < start + seconds:
            while time.perf_counter() < due:
                pass
            y = model(x)
            torch.cuda.synchronize()
            times.append(time.perf_counter() - due)
            due += 0.005
    open(end, "w").close()
    times.sort()
    n = len(times)
    print(f"infer requests {n} p50_us {times[n // 2] * 1e6:.0f} p90_us {times[int(n * .9)] * 1e6:.0f} p99_us {times[int(n * .99)] * 1e6:.0f} max_us {times[-1] * 1e6:.0f} sum {y.float().sum().item():.4f}")
else:
    model = torch.nn.Sequential(*[layer for _ in range(6) for layer in (torch.nn.Linear(4096, 4096), torch.nn.GELU())]).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    x = torch.randn(2048, 4096, device="cuda")
    torch.backends.cuda.matmul.allow_tf32 = True
    def step():
        optimizer.zero_grad()
        loss = (model(x) ** 2).mean()
        loss.backward()
        optimizer.step()
        return loss
    for _ in range(3):
        step()
    torch.cuda.synchronize()
    open(os.path.join(folder, "trains"), "w").close()
    alone = len(sys.argv) > 4
    if alone:
        open(begin, "w").close()
    limit = time.perf_counter() + 40
    count, first, last = 0, None, None
    while time.perf_counter() < limit:
        step()
        torch.cuda.synchronize()
        now = time.perf_counter()
        if first is None and os.path.exists(begin):
            first = now
        elif first is not None and last is None:
            count += 1
            if os.path.exists(end) or (alone and now > first + seconds):
                last = now
                break
    print(f"train steps {count} seconds {last - first:.3f} per_second {count / (last - first):.2f}" if last else "train: not ended")
