"""`synth evaluate` from the command line: the report, what it refuses, and what it leaves alone."""

import re
import shutil
import stat
from pathlib import Path

import pytest
import yaml

from tests.command_line import synth
from tests.conftest import PEOPLE, SMALL


def contents(folder):
    return {p: p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    place = tmp_path_factory.mktemp("published")
    (place / "people.csv").write_text(PEOPLE)
    (place / "small.yaml").write_text(yaml.safe_dump(SMALL, allow_unicode=True))
    done = synth("run", place / "small.yaml")
    assert done.returncode == 0, done.stderr
    return place


@pytest.fixture
def released(published, tmp_path):
    """A copy of a project and its release, which was made once."""
    place = Path(shutil.copytree(published, tmp_path / "project"))
    return place / "small.yaml", place / "outputs" / "small"


def test_the_report_is_private_marked_and_the_only_thing_written(released):
    config, release = released
    place = config.parent
    report = place / "report.html"
    before = contents(place)
    done = synth("evaluate", config, release, "-o", report)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{report}\n"
    assert "NOT PRIVATE" in done.stderr
    assert not re.search(r"\d", done.stderr)
    after = contents(place)
    text = after.pop(report).decode()
    assert after == before  # the ledger too
    assert stat.S_IMODE(report.stat().st_mode) == 0o600
    assert "<strong>NOT PRIVATE</strong>" in text
    manifest = (release / "manifest.json").read_text()
    (found,) = set(re.findall(r"<code>([0-9a-f]{64})</code>", text))
    assert found in manifest
    assert "Raw records: 120" in text
    assert text.count('src="data:image/png;base64,iVBOR') == 4
    assert not re.search(r"""(src|href)=["'](?!data:)""", text)


def test_refusals_come_before_the_raw_data_are_opened(released, tmp_path_factory):
    config, release = released
    place = config.parent
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "link").symlink_to(release, target_is_directory=True)
    (place / "taken.html").write_text("mine")
    before = contents(place)
    for output, code in (
        (release / "report.html", 1),
        (elsewhere / "link" / "report.html", 1),
        (place / "taken.html", 1),
        (place / "nowhere" / "report.html", 1),
    ):
        refused = synth("evaluate", config, release, "-o", output)
        assert refused.returncode == code, output
        assert "WARNING" not in refused.stderr
    for words, code in (
        ([config, place], 5),
        ([config, release, "--target", "nothing"], 2),
        ([place / "nowhere.yaml", release], 2),
    ):
        refused = synth("evaluate", *words, "-o", elsewhere / "report.html")
        assert refused.returncode == code, refused.stderr
        assert "Traceback" not in refused.stderr
    other = config.with_name("other.yaml")
    other.write_text(config.read_text().replace("Made-up people", "Other people"))
    refused = synth("evaluate", other, release, "-o", elsewhere / "report.html")
    assert refused.returncode == 1
    assert "another configuration" in refused.stderr
    other.unlink()
    (place / "people.csv").rename(elsewhere / "gone.csv")
    refused = synth("evaluate", config, release, "-o", elsewhere / "report.html")
    assert refused.returncode == 1
    assert "names no file" in refused.stderr
    shutil.move(elsewhere / "gone.csv", place / "people.csv")
    assert contents(place) == before
    assert not (elsewhere / "report.html").exists()


def test_an_empty_source_is_evaluated_too(released):
    config, release = released
    (config.parent / "people.csv").write_text("age,sex,town\n")
    done = synth("evaluate", config, release, cwd=config.parent)
    assert done.returncode == 0, done.stderr
    assert "NOT PRIVATE" in (config.parent / "evaluation.html").read_text()


def test_names_are_text_in_the_report_and_one_target_can_be_chosen(project):
    name = "<b>$x_{$&"
    column = {"name": name, "type": "categorical", "levels": ["a", "b"], "out_of_domain": "a"}
    people = PEOPLE.replace("town", name)
    config = project(
        people=people,
        domain=[
            {"name": "sex", "type": "categorical", "levels": ["Female", "Male"], "source": "t",
             "out_of_domain": "Male"},
            {**column, "source": "t"},
        ],
    )  # fmt: skip
    assert synth("run", config).returncode == 0
    release = config.parent / "outputs" / "small"
    done = synth("evaluate", config, release, "--target", name, cwd=config.parent)
    assert done.returncode == 0, done.stderr
    text = (config.parent / "evaluation.html").read_text()
    assert "<b>" not in text
    assert "&lt;b&gt;$x_{$&amp;" in text
    prediction = text[text.index("<h2>Prediction") : text.index("<h2>Nearest")]
    assert prediction.count("<tr><td>") == 1


def test_a_universe_too_large_to_hold_is_evaluated(project):
    """Of 16 columns, the fewest of which not all tables of three are compared."""
    columns = [f"c{n}" for n in range(16)]
    rows = "\n".join(",".join(str((n * (c + 3)) % 5) for c in range(16)) for n in range(100))
    config = project(
        people=",".join(columns) + "\n" + rows + "\n",
        privacy={"epsilon": 20},
        ledger={"epsilon_cap": 20},
        domain=[
            {"name": c, "type": "integer", "minimum": 0, "maximum": 9, "out_of_domain": "clamp",
             "source": "t"}
            for c in columns
        ],
        workload={"marginals": 1},
    )  # fmt: skip
    done = synth("run", config)
    assert done.returncode == 0, done.stderr
    release = config.parent / "outputs" / "small"
    done = synth("evaluate", config, release, cwd=config.parent)
    assert done.returncode == 0, done.stderr
    text = (config.parent / "evaluation.html").read_text()
    assert "of 560 tables of 3 columns: they were not compared" in text


def test_a_column_that_did_not_arrive_is_said_first_and_not_praised(project):
    column = {
        "name": "systolic", "type": "number", "edges": [80, 120, 200], "missing": [""],
        "out_of_domain": "missing", "source": "t",
    }  # fmt: skip
    config = project(domain=[column], workload={"marginals": 1})
    text = "systolic\n" + '"121,5"\n' * 90 + "130\n" * 10
    (config.parent / "people.csv").write_text(text)
    assert synth("run", config).returncode == 0
    release = config.parent / "outputs" / "small"
    done = synth("evaluate", config, release, cwd=config.parent)
    assert done.returncode == 0, done.stderr
    assert not re.search(r"\d", done.stderr)
    text = (config.parent / "evaluation.html").read_text()
    assert text.index("Values did not arrive") < text.index("<h2>Tables</h2>")
    assert "systolic: 90 of 100 values fit nowhere; 90 are written with a decimal comma" in text
    assert "that is no praise" in text
