"""The last step of `corun reproduce`: the numbers of an experiment beside the paper's. The command has run the cases."""

import argparse
import os
import signal
import sys

from . import experiment_text
from .experiment import Evaluation, Experiment, ExperimentError
from .report import write_file
from .results import Results, ResultsError

SYNTAX, FILE = 3, 13  # exit statuses of the command


def parse(arguments):
    parser = argparse.ArgumentParser(prog="corun reproduce")
    for name in ("experiment", "results"):
        parser.add_argument("--" + name, required=True)
    for name in ("html", "markdown"):
        parser.add_argument("--" + name)
    for name in ("check", "quiet"):
        parser.add_argument("--" + name, action="store_true")
    return parser.parse_args(arguments)


def read_experiment(path):
    with open(path, "rb") as stream:
        stream.seek(0)
        return Experiment(stream.read().decode("utf-8", "replace"))


def reproduce(options):
    """The exit status."""
    experiment = read_experiment(options.experiment)
    if options.check:
        return 0
    with Results(options.results) as results:
        evaluation = Evaluation(experiment, results)
        outputs = [(options.markdown, lambda: experiment_text.markdown(evaluation))]
        if options.html:
            from .experiment_page import make_page  # needs matplotlib, which the others do not
            outputs.append((options.html, lambda: make_page(evaluation)))
        for path, make in outputs:
            if path:
                text = make()
                try:
                    write_file(path, text)
                except OSError as error:
                    print(f"corun: {path}: cannot be written: {error.strerror}", file=sys.stderr)
                    return FILE
        if not options.quiet and "-" not in (options.html, options.markdown):
            experiment_text.print_comparison(evaluation, sys.stdout)
    sys.stdout.flush()
    return 0


def main(arguments=None):
    options = parse(arguments)
    try:
        return reproduce(options)
    except ExperimentError as error:
        print(f"corun: {error}", file=sys.stderr)
        return SYNTAX
    except ResultsError as error:
        print(f"corun: {error}", file=sys.stderr)
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
