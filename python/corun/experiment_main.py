# SPDX-License-Identifier: MIT
"""The last step of `corun reproduce`: the numbers of an experiment beside the paper's. The command has run the cases."""

import argparse
import sys

from . import experiment_confirm, experiment_text
from .experiment import Evaluation, Experiment, ExperimentError
from .report import ReportError, check_outputs, end, write_outputs
from .results import Results

SYNTAX = 3  # the exit status


def parse(arguments):
    parser = argparse.ArgumentParser(prog="corun reproduce")
    for name in ("experiment", "results"):
        parser.add_argument("--" + name, required=True)
    for name in ("html", "markdown", "confirm"):
        parser.add_argument("--" + name)
    for name in ("check", "quiet"):
        parser.add_argument("--" + name, action="store_true")
    return parser.parse_args(arguments)


def read_experiment(path):
    with open(path, "rb") as stream:
        stream.seek(0)
        return Experiment(stream.read().decode("utf-8", "replace"))


def reproduce(options):
    try:
        experiment = read_experiment(options.experiment)
        check_outputs([options.html, options.markdown, options.confirm])
        if options.confirm:
            experiment_confirm.Page(options.confirm)
        if not options.check:
            compare(experiment, options)
    except ExperimentError as error:
        raise ReportError(SYNTAX, str(error)) from None


def compare(experiment, options):
    with Results(options.results) as results:
        evaluation = Evaluation(experiment, results)
        outputs = [(options.markdown, lambda: experiment_text.markdown(evaluation))]
        if options.html:
            from .experiment_page import make_page  # needs matplotlib, which the others do not
            outputs.append((options.html, lambda: make_page(evaluation)))
        write_outputs(outputs)
        if options.confirm:
            print(experiment_confirm.confirm(options.confirm, evaluation))
        elif not options.quiet and "-" not in (options.html, options.markdown):
            experiment_text.print_comparison(evaluation, sys.stdout)
    sys.stdout.flush()


def main(arguments=None):
    options = parse(arguments)
    return end(lambda: reproduce(options))
