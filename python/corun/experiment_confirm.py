# SPDX-License-Identifier: MIT
"""`corun reproduce --confirm`: whether a page of an older version of the timing model has today's digits, by its drawn cases."""

import re

from .experiment_text import digits_line, version_line
from .report import ReportError, write_file

NOT_FOUND, MISMATCH = 5, 11  # exit statuses of the command

_VERSION = re.compile(r"^\* timing model: version (\d+)(?:, and with version \d+ the same digits in \d+ drawn cases)?$", re.M)
_DIGITS = re.compile(r"^\* digits of \d+ drawn cases: `[0-9a-f]+`$", re.M)


class Page:
    """What a page says of its digits. ReportError if it says nothing that could be confirmed."""

    def __init__(self, path):
        self.path = path
        try:
            with open(path, encoding="utf-8") as stream:
                self.text = stream.read()
        except (OSError, UnicodeDecodeError) as error:
            raise ReportError(NOT_FOUND, f"{path}: {getattr(error, 'strerror', None) or error}") from None
        self.version, self.digits = _VERSION.search(self.text), _DIGITS.search(self.text)
        if not self.version or not self.digits:
            raise ReportError(NOT_FOUND, f"{path}: no page with one version of the timing model and a digest of drawn cases: "
                                         "one of a whole run of corun reproduce --markdown has both")


def confirm(path, evaluation):
    """Writes the version into the page if the drawn cases give the page's digits. What is to be printed."""
    page, digits = Page(path), evaluation.digits()
    versions = [one for one in evaluation.models if one]
    if digits is None or len(versions) != 1:
        raise ReportError(MISMATCH, f"{path}: the drawn cases have not all finished")
    if digits_line(digits) != page.digits[0]:
        raise ReportError(MISMATCH, f"{path}: version {versions[0]} of the timing model gives other digits, or they are of "
                                     "another window: the page has to be made again")
    made = int(page.version[1])
    line = version_line([made]) + (f", and with version {versions[0]} the same digits in {digits[0]} drawn cases"
                                   if made != versions[0] else "")
    write_file(path, page.text.replace(page.version[0], line, 1))
    return f"{path}: version {versions[0]} of the timing model gives the same digits in {digits[0]} drawn cases"
