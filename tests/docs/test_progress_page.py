"""The page on progress: its loop is run, and its table names the stages that there are."""

import re
import textwrap

import pytest

from synth import progress
from synth.progress import Stage, Step
from tests.docs.test_signing_page import DOCS

PAGE = (DOCS / "progress.md").read_text(encoding="utf-8")
(LOOP,) = re.findall(r"^## For a long loop\n\n((?:    .*\n|\n)+)", PAGE, re.MULTILINE)


class Told:
    """What a watcher was told."""

    def __init__(self):
        self.steps, self.figures = [], []

    def entered(self, step):
        self.steps.append(step)

    def advanced(self, done, total, unit):
        self.figures.append((done, total, unit))


def loop():
    exec(compile(textwrap.dedent(LOOP), "progress.md", "exec"), {"cells": 250, "block": 100})


@pytest.mark.parametrize("public", [None, 250, 3])
def test_the_loop_of_the_page_tells_how_far_it_is_as_the_page_says(public):
    told = Told()
    with progress.watched_by(told):
        if public is None:
            loop()
        else:
            with progress.while_raw_data_are_open(public_totals=[public]):
                loop()
    assert told.steps == [Step(Stage.NOISE, 2, 36), None]
    figures = [(100, 250, "cells"), (200, 250, "cells"), (250, 250, "cells")]
    assert told.figures == ([] if public == 3 else figures)


def test_without_a_watcher_the_loop_does_nothing():
    loop()


def test_every_stage_is_in_the_table():
    rows = " ".join(re.findall(r"^\| ([a-z ,]+) \|", PAGE, re.MULTILINE))
    for stage in Stage:
        assert stage.value in rows, stage
