"""The page on errors: its command with both methods is run, on a small release of that name.

The others are carried out in test_how_to.py, on Adult, which is published without replicates.
"""

import json
import re

from synth.config import load_config
from synth.job import pipeline
from tests.docs.test_signing_page import DOCS, run

PAGE = (DOCS / "errors.md").read_text(encoding="utf-8")
(COMMAND,) = re.findall(r"^    (synth errors .*--method both.*)$", PAGE, re.MULTILINE)

LEVELS = {"sex": ["Female", "Male"], "income": ["<=50K", ">50K"]}
DOMAIN = [
    {"name": name, "type": "categorical", "levels": levels, "out_of_domain": levels[0],
     "source": "test"}
    for name, levels in LEVELS.items()
]  # fmt: skip


def test_both_methods_answer_as_the_page_says(project, log):
    people = "sex,income\n" + "Female,<=50K\nMale,<=50K\nMale,>50K\nMale,>50K\n" * 50
    output = {"directory": "outputs", "formats": ["csv"], "replicates": 10}
    path = project(people=people, release={"id": "adult-1994"}, domain=DOMAIN, output=output)
    config = load_config(path)
    pipeline.measure(config, log=log)
    pipeline.publish(config, log=log)
    done = run(path.parent, COMMAND)
    assert done.returncode == 0, done.stderr
    answers = json.loads(done.stdout)["answers"]
    cells = {f"sex={sex}, income={income}" for sex in LEVELS["sex"] for income in LEVELS["income"]}
    for method in ("measured", "replicates"):
        of_method = [answer for answer in answers if answer["method"] == method]
        assert {answer["query"].replace('"', "") for answer in of_method} == cells
        assert all(answer["low"] <= answer["high"] for answer in of_method)
    assert len(answers) == 2 * len(cells)
