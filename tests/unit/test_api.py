"""The public functions do what the commands do."""

import subprocess
import sys

import pytest

import synth


def test_the_public_names_are_functions_after_everything_was_imported():
    code = (
        "import synth, synth.cli, synth.planning.forecast, synth.release.write\n"
        "import synth.drafting.records, synth.bookkeeping, synth.job.pipeline\n"
        "from synth.planning import forecast\n"
        "assert all(callable(getattr(synth, n)) for n in synth.__all__ if n != 'errors')\n"
        "assert synth.errors.SynthError.exit_code == 1\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_load_plan_run_verify(project, capsys):
    path = project()
    config = synth.load_config(path)
    assert synth.forecast(config).noise_sd_per_cell == pytest.approx(1.357, abs=1e-3)
    assert synth.forecast(path) == synth.forecast(str(path)) == synth.forecast(config)
    folder = synth.run(path).path
    assert folder == path.parent / "outputs" / "small"
    assert synth.verify(folder).checks
    assert synth.run(path).was_there
    assert "nothing spent" in capsys.readouterr().err


def test_errors_carry_their_exit_code(project):
    with pytest.raises(synth.errors.ConfigError) as caught:
        synth.load_config(project(privacy={"epsilon": 0}))
    assert caught.value.exit_code == 2
    with pytest.raises(synth.errors.BudgetRefusedError) as caught:
        raise synth.errors.BudgetRefusedError("over the cap")
    assert caught.value.exit_code == 4
