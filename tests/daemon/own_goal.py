#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A Python program under corund that gives itself goals: own_goal.py PACKAGE. Prints the status of each."""
import ctypes
import sys

sys.path.insert(0, sys.argv[1])
import corun  # noqa: E402  # pylint: disable=wrong-import-position


def ask(goal):
    try:
        corun.set_goal(goal)
        return "OK"
    except corun.CorunError as error:
        return error.status


print(ask("90%"))  # nobody has loaded CUDA yet
driver = ctypes.CDLL("libcuda.so")
assert driver.cuInit(0) == 0
print(ask("90%"), ask(0.5), ask("ipc=20"), ask("150%"), ask("none"), ask(None))
try:
    corun.set_goal("much")
except ValueError as problem:
    print(problem)
