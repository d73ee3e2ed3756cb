"""The public functions do what the commands do."""

import pkgutil

import pytest

import synth
from synth.bookkeeping import Ledger
from synth.job import pipeline
from tests.conftest import SMALL, merged


def test_no_module_takes_the_place_of_a_public_name_when_it_is_imported():
    modules = {module.name for module in pkgutil.iter_modules(synth.__path__)}
    assert modules & set(synth.__all__) == {"errors"}
    for name in set(synth.__all__) - {"errors", "statistics"}:
        assert getattr(synth, name).__name__ == name
    assert synth.statistics.__name__ == "synth.reading.statistics"
    assert synth.errors.SynthError.exit_code == 1


def test_only_the_public_names_are_shown():
    assert dir(synth) == [
        "Release", "check", "draft", "due", "errors", "evaluate", "explain", "infer", "inspect",
        "intervals", "ledger", "load_config", "plan", "rehearse", "run", "statistics", "status",
        "verify",
    ]  # fmt: skip
    with pytest.raises(AttributeError, match="forecast"):
        _ = synth.forecast


@pytest.mark.usefixtures("measuring_processes_are_executed")
def test_load_plan_run_verify(project, monkeypatch, capsys):
    """Of a file, and of a dict whose paths start where the program runs."""
    path = project()
    config = synth.load_config(path)
    assert synth.plan(config).noise_sd_per_cell == pytest.approx(1.357, abs=1e-3)
    assert synth.plan(path) == synth.plan(str(path)) == synth.plan(config)
    assert synth.plan(path, 0.5) == synth.plan(path, "1/2") != synth.plan(path)
    folder = synth.run(path).path
    assert folder == path.parent / "outputs" / "small"
    assert synth.verify(folder).checks
    assert synth.run(path).was_there
    assert "nothing spent" in capsys.readouterr().err
    monkeypatch.chdir(path.parent)
    assert synth.load_config(SMALL).hash == config.hash == synth.load_config(config).hash
    assert synth.run(SMALL).path == folder
    assert synth.run(SMALL).was_there
    assert synth.ledger(SMALL).spent.epsilon == 1
    capsys.readouterr()


def test_a_dict_with_problems_names_all_of_them_as_a_file_does(project):
    changes = {"privacy": {"epsilon": 0}, "release": {"contact": None}, "domains": []}
    with pytest.raises(synth.errors.ConfigError) as of_file:
        synth.check(project(**changes))
    with pytest.raises(synth.errors.ConfigError) as of_dict:
        synth.check(merged(SMALL, changes))
    assert {(p.path, p.expected) for p in of_file.value.problems} == {
        (p.path, p.expected) for p in of_dict.value.problems
    }
    assert len(of_dict.value.problems) == 3
    deep: dict[str, object] = {}
    for _ in range(5_000):
        deep = {"a": deep}
    with pytest.raises(synth.errors.ConfigError, match="deep nesting"):
        synth.check(deep)


def test_a_period_is_given_where_a_configuration_is_loaded():
    where = {"path": "people-{period}.csv"}
    dated = merged(SMALL, {"release": {"id": "small-{period}"}, "source": where})
    config = synth.load_config(dated, period="2024")
    assert config.release.id == "small-2024"
    assert synth.load_config(config, period="2024") is config
    with pytest.raises(synth.errors.ConfigError, match="where the configuration is loaded"):
        synth.load_config(config, period="2025")


def test_what_is_given_shows_itself_in_one_short_line_and_prints_the_rest(
    project, tmp_path, capsys
):
    path = project()
    outcome, spent = synth.run(path), synth.ledger(path)
    found = [
        synth.check(path), synth.plan(path), synth.inspect(path), synth.explain(path), spent,
        synth.evaluate(path, outcome.path), synth.rehearse(path), synth.load_config(path),
    ]  # fmt: skip
    for each in found:
        assert "\n" not in repr(each)
        assert len(repr(each)) < 400, repr(each)
        assert type(each).__name__ in repr(each)
    said = capsys.readouterr().err
    assert said.count("WARNING: this command reads raw data") == 2
    check, plan, inspected, explained, *_ = map(str, found)
    assert "universe  5 x 3 x 3 = 45 cells" in check
    assert "pairs of columns: " in plan
    assert "No trouble was found" in inspected
    assert inspected.startswith("PRIVATE")
    assert "small" in explained
    assert "1 spent of 2, 1 left" in str(spent)
    assert "PRIVATE" in repr(found[2])
    assert "PRIVATE" in repr(found[5])
    require_a_page_outside_of_releases_alone(path, outcome.path, tmp_path / "evaluation.html")


def require_a_page_outside_of_releases_alone(path, folder, page):
    """What `evaluate` writes only its keeper reads, and it replaces nothing."""
    assert synth.evaluate(path, folder, output=page, targets=["sex"]).predictions
    assert page.stat().st_mode & 0o777 == 0o600
    with pytest.raises(synth.errors.SynthError):
        synth.evaluate(path, folder, output=page)
    with pytest.raises(synth.errors.SynthError):
        synth.evaluate(path, folder, output=folder / "evaluation.html")


def test_inspect_tells_of_trouble(project):
    report = synth.inspect(project(people="age,sex,town\n1,F,Nord\nx,Male,Nord\n"))
    assert report.records == 2
    assert [column.nowhere for column in report.columns] == [1, 1, 0]
    assert len(report.troubles) == 2
    assert report.to_plain()["records"] == 2


def test_a_draft_is_marked_whatever_describes_the_data(project, tmp_path, capsys):
    path = project()
    drafted = synth.draft(path.parent / "people.csv", tmp_path / "one.yaml", levels=10)
    assert drafted.path.stat().st_mode & 0o777 == 0o600
    text = drafted.path.read_text(encoding="utf-8")
    assert "!CONFIRM" in text
    assert "Nord" in text
    with pytest.raises(synth.errors.ConfigError, match="CONFIRM"):
        synth.check(drafted.path)
    with pytest.raises(synth.errors.OutputError):
        synth.draft(path.parent / "people.csv", tmp_path / "one.yaml")
    source = {"path": str(path.parent / "people.csv"), "delimiter": ";"}
    other = synth.draft(source, tmp_path / "two.yaml", header=False)
    assert "c1" in other.path.read_text(encoding="utf-8")
    assert capsys.readouterr().err.count("PRIVATE until") == 2


def test_a_charge_that_was_never_used_is_freed(project, capsys):
    path = project(source={"path": "one.csv"})
    with pytest.raises(synth.errors.LedgerError):
        synth.ledger(path)
    with pytest.raises(synth.errors.SourceError, match="names no file"):
        synth.run(path)
    config = synth.load_config(path)
    with Ledger.open(config.ledger.path) as opened:
        opened.reserve(**pipeline._Planned.of(config).charge)
    assert synth.ledger(path).spent.epsilon == 1
    freed = synth.ledger(path, void="small", reason="a test")
    assert (freed.spent.epsilon, freed.left.epsilon) == (0, 2)
    assert "small was voided: a test" in str(freed)
    capsys.readouterr()


def test_errors_carry_their_exit_code(project):
    with pytest.raises(synth.errors.ConfigError) as caught:
        synth.load_config(project(privacy={"epsilon": 0}))
    assert caught.value.exit_code == 2
    with pytest.raises(synth.errors.BudgetRefusedError) as caught:
        raise synth.errors.BudgetRefusedError("over the cap")
    assert caught.value.exit_code == 4
