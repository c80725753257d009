# SPDX-License-Identifier: MIT
"""`corun report`: tables, CSV, JSON and a page of a results file. The options are those of the command (docs/corun.1)."""

import argparse
import errno
import io
import os
import re
import signal
import sys
import tempfile

from . import tables
from .results import Results, ResultsError
from .summary import sections

USAGE, UNSUPPORTED, NOT_FOUND, FILE = 2, 4, 5, 13  # exit statuses of the command


class ReportError(Exception):
    """A message for the user and the exit status that goes with it."""

    def __init__(self, status, text):
        super().__init__(text)
        self.status = status


def parse(arguments):
    parser = argparse.ArgumentParser(prog="corun report")
    parser.add_argument("--results", default="corun-results.db")
    parser.add_argument("--campaign")
    parser.add_argument("--cases", type=int, default=2000)
    for name in ("html", "csv", "json"):
        parser.add_argument("--" + name)
    parser.add_argument("--quiet", action="store_true")
    return parser.parse_args(arguments)


def write_file(path, text):
    """All of it or none: a page that is there stays as it is until the new one is whole."""
    if path == "-":
        sys.stdout.write(text)
        return
    if os.path.exists(path) and not os.path.isfile(path):  # a device or a pipe: there is no other way
        with open(path, "w", encoding="utf-8", newline="") as stream:
            stream.write(text)
        return
    folder, name = os.path.split(os.path.realpath(path))
    descriptor, temporary = tempfile.mkstemp(prefix="." + name, dir=folder)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as stream:
            stream.write(text)
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(temporary, 0o666 & ~mask)
        os.replace(temporary, os.path.join(folder, name))
    except BaseException:
        os.unlink(temporary)
        raise


def check_outputs(paths):
    """That a file cannot be written should be known before the work."""
    for path in paths:
        if not path or path == "-":
            continue
        folder = os.path.dirname(os.path.realpath(path))
        error = errno.EISDIR if os.path.isdir(path) else errno.ENOENT if not os.path.isdir(folder) else 0
        if not error and not os.access(path if os.path.exists(path) and not os.path.isfile(path) else folder, os.W_OK):
            error = errno.EACCES
        if error:
            raise ReportError(FILE, f"{path}: cannot be written: {os.strerror(error)}")


def write_outputs(outputs):
    """outputs: (path or None, function that makes the text)"""
    for path, make in outputs:
        if path:
            text = make()
            try:
                write_file(path, text)
            except OSError as error:
                raise ReportError(FILE, f"{path}: cannot be written: {error.strerror}") from None


def render(write, parts):
    stream = io.StringIO(newline="")
    write(parts, stream)
    return stream.getvalue()


def without_other_commands(parts, path):
    """The sections that a report can show; the others are named."""
    others = [part for part in parts if part.is_of_another_command()]
    if len(others) == len(parts):
        raise ReportError(UNSUPPORTED, f"{path}: reports have cases of corun run only; ask for the others with corun query")
    for part in others:
        print(f"corun: {path}: warning: campaign '{part.name}' is left out: reports have cases of corun run only",
              file=sys.stderr)
    return [part for part in parts if part not in others]


def report(options):
    with Results(options.results) as results:
        try:
            parts = sections(results, options.campaign)
        except LookupError:
            known = ", ".join(campaign.name for campaign in results.campaigns()) or "none"
            raise ReportError(NOT_FOUND, f"{options.results}: there is no campaign '{options.campaign}'; there are: {known}") \
                from None
        parts = without_other_commands(parts, options.results)
        outputs = [(options.csv, lambda: render(tables.write_csv, parts)), (options.json, lambda: render(tables.write_json, parts))]
        if options.html:
            from .page import make_page  # needs matplotlib, which the others do not
            outputs.append((options.html, lambda: make_page(results, parts, options.cases)))
        write_outputs(outputs)
        if not options.quiet and "-" not in (options.csv, options.json, options.html):
            sys.stdout.write(render(tables.print_report, parts))
    sys.stdout.flush()


def say(error):
    """In one line: what a damaged file has in a message must not move the cursor of a terminal."""
    print("corun: " + re.sub(r"[\x00-\x1f\x7f]+", " ", str(error)), file=sys.stderr)


def end(work):
    """Does it, and says on the standard error output what went wrong: the exit status."""
    try:
        work()
    except ReportError as error:
        say(error)
        return error.status
    except ResultsError as error:
        say(error)
        return FILE
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    except BrokenPipeError:  # whoever closed a pipe does not want to hear about it
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return FILE
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        print(f"corun: standard output cannot be written: {error.strerror}", file=sys.stderr)
        return FILE
    return 0


def main(arguments=None):
    options = parse(arguments)
    return end(lambda: report(options))
