"""The page on statistics with errors: run in Python, in R where it is, and all agree."""

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import synth
from synth import statistics as st
from tests.docs.carried_out import ROOT, blocks, carry_out

PAGE = ROOT / "docs" / "how-to" / "statistics-with-errors.md"
RSCRIPT = shutil.which("Rscript")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of the page after it was carried out."""
    directory = tmp_path_factory.mktemp("statistics")
    ran: list[str] = []

    def numpy(place: Path, text: str) -> str:
        ran.append(text)
        return by_numpy(place, text)

    marks = carry_out(PAGE, directory, {"numpy": numpy, "R": unseen, "text": unseen})
    assert len(ran) == 1
    assert marks.count("R") == 1
    return directory


def unseen(_place: Path, _text: str) -> str:
    return ""


def block(wanted: str) -> str:
    (text,) = (text for mark, _, text in blocks(PAGE) if mark == wanted)
    return text


def of_this_release(text: str, release: synth.Release) -> str:
    """The snippet with the factor of a release, and the paths of its files."""
    factor = release.manifest["post_processing"]["replicates"]["factor"]
    found, number = re.subn(r"(factor.*(?:=|<-) )1\.07", rf"\g<1>{factor!r}", text)
    assert number == 1
    return found.replace('"replicates.parquet"', f'"{release.path}/replicates.parquet"')


def by_numpy(place: Path, text: str) -> str:
    release = synth.Release(place / "outputs" / "pay-2025")
    names: dict[str, float] = {}
    exec(of_this_release(text, release), names)
    expected = synth.infer(release, st.mean("age")).iloc[0]
    assert names["release"] == pytest.approx(expected["estimate"], rel=1e-12)
    assert names["standard_error"] == pytest.approx(expected["standard_error"], rel=1e-9)
    return ""


def test_the_page_is_carried_out(place):
    assert (place / "replicates.csv").stat().st_size > 10_000


def by_r(release: synth.Release, *asked: tuple[str, str]) -> list[list[float]]:
    """Run lines in R, and give what is asked for behind each of them, with all digits."""
    copy = release.path.parent / "copy.csv"
    release.replicate_weights().to_csv(copy, index=False)
    parquet = f'nanoparquet::read_parquet("{release.path}/replicates.parquet")'
    csv = f'read.csv("{copy}", check.names = FALSE, na.strings = "")'
    program = ""
    for text, names in asked:
        assert parquet in text
        program += f"{text.replace(parquet, csv)}\n"
        program += f"cat('', format(c({names}), digits = 17), sep = '\\n= ')\ncat('\\n- \\n')\n"
    done = subprocess.run(
        [RSCRIPT or "Rscript", "-e", f"suppressPackageStartupMessages({{{program}}})"],
        capture_output=True,
        text=True,
        check=False,
    )
    if "there is no package called" in done.stderr and "survey" in done.stderr:
        pytest.skip("the package survey of R is not installed")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    ends = [place for place, line in enumerate(lines) if line == "- "]
    return [
        [float(line[2:]) for line in lines[begin:end] if line.startswith("= ")]
        for begin, end in zip([0, *ends], ends, strict=False)
    ]


FOUND_BY_R: dict[str, tuple[Callable[[], st.Statistic], str]] = {
    "mean": (lambda: st.mean("pay"), "average"),
    "total": (lambda: st.total(within="sex=female"), "people[2]"),
    "domain": (lambda: st.mean("pay", within="sex=female"), "women"),
    "ratio": (lambda: st.ratio(st.total("pay", within="sex=female"), st.total("pay")), "part"),
    "line": (lambda: st.ols("pay", ["age", "sex"]), "line"),
    "odds": (lambda: st.logistic("union=yes", ["age", "sex"]), "odds"),
}


@pytest.fixture(scope="module")
def found_by_r(place) -> tuple[list[float], list[float]]:
    """What R finds with the lines of the page, and with those of the data card."""
    if RSCRIPT is None:
        pytest.skip("R is not installed")
    release = synth.Release(place / "outputs" / "pay-2025")
    printed = "c(coef(people), SE(people))[c(2, 4)]"
    asked = [
        printed if name == "total" else f"as.vector(coef({what})), as.vector(SE({what}))"
        for name, (_, what) in FOUND_BY_R.items()
    ]
    asked += ["coef(middle)", "SE(middle)", "confint(average, df = number)"]
    asked += ["confint(odds, ddf = number)"]
    page = of_this_release(block("R"), release), ", ".join(asked)
    card = lines_of_the_card(release, "r"), "coef(mean), SE(mean)"
    of_page, of_card = by_r(release, page, card)
    return of_page, of_card


def lines_of_the_card(release: synth.Release, language: str) -> str:
    card = (release.path / "README.md").read_text(encoding="utf-8")
    section = card.split("## Standard errors\n")[1].split("\n## ")[0]
    (text,) = re.findall(rf"```{language}\n(.*?)```", section, re.DOTALL)
    return text.replace('"replicates.parquet"', f'"{release.path}/replicates.parquet"')


def test_the_survey_package_of_r_finds_the_same(place, found_by_r):
    release = synth.Release(place / "outputs" / "pay-2025")
    numbers = list(found_by_r[0])
    for make, _ in FOUND_BY_R.values():
        found = synth.infer(release, make())
        terms = len(found)
        assert numbers[:terms] == pytest.approx(found["estimate"].to_list(), rel=1e-7)
        errors = numbers[terms : 2 * terms]
        assert errors == pytest.approx(found["standard_error"].to_list(), rel=1e-6)
        del numbers[: 2 * terms]
    middle = synth.infer(release, st.quantile("pay", 0.5)).iloc[0]
    assert numbers[:2] == pytest.approx([middle["estimate"], middle["standard_error"]])
    mean = synth.infer(release, st.mean("pay")).iloc[0]
    assert numbers[2:4] == pytest.approx([mean["low"], mean["high"]], rel=1e-8)
    odds = synth.infer(release, FOUND_BY_R["odds"][0]())
    ends = [*odds["low"], *odds["high"]]
    assert numbers[4:] == pytest.approx(ends, rel=1e-6, abs=1e-9)


def test_a_model_of_statsmodels_has_the_same_coefficients(place):
    """The lines that the page describes in words."""
    formula = pytest.importorskip("statsmodels.formula.api")
    release = synth.Release(place / "outputs" / "pay-2025")
    cells = pd.read_parquet(release.path / "replicates.parquet")
    known = cells[cells["pay"].notna()]
    names = [name for name in cells if name.startswith("release_")]

    def coefficients(weights):
        fit = formula.wls("pay ~ age + sex", known, weights=weights[known.index]).fit()
        return fit.params.to_numpy()

    theta, *others = (coefficients(cells[name].astype(float)) for name in names)
    factor = release.manifest["post_processing"]["replicates"]["factor"]
    error = np.sqrt(factor * np.mean((np.array(others) - theta) ** 2, axis=0))
    found = synth.infer(release, st.ols("pay", ["age", "sex"]))
    order = ["(Intercept)", "sex=male", "age"]
    assert theta == pytest.approx(found.loc[order, "estimate"].to_list(), rel=1e-8)
    assert error == pytest.approx(found.loc[order, "standard_error"].to_list(), rel=1e-6)


def test_the_lines_of_the_data_card_find_the_same_in_numpy(place):
    release = synth.Release(place / "outputs" / "pay-2025")
    names: dict[str, float] = {}
    exec(lines_of_the_card(release, "python"), names)
    found = synth.infer(release, st.mean("age")).iloc[0]
    expected = [found["estimate"], found["standard_error"]]
    assert [names["release"], names["standard_error"]] == pytest.approx(expected, rel=1e-9)


def test_the_lines_of_the_data_card_find_the_same_in_r(place, found_by_r):
    found = synth.infer(synth.Release(place / "outputs" / "pay-2025"), st.mean("age")).iloc[0]
    assert found_by_r[1] == pytest.approx([found["estimate"], found["standard_error"]], rel=1e-9)


@pytest.mark.parametrize(
    "damage",
    [lambda old: old[: len(old) // 2], lambda old: old.replace(b"release_replicate_7", b"x" * 19)],
)
def test_replicates_that_cannot_be_read_are_refused(place, tmp_path, damage):
    copy = tmp_path / "pay-2025"
    shutil.copytree(place / "outputs" / "pay-2025", copy)
    path = copy / "replicates.parquet"
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(synth.errors.VerificationError, match=r"replicates.parquet: cannot be read"):
        synth.infer(copy, st.mean("age"))
