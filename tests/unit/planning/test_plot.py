"""The picture of a plan."""

from fractions import Fraction

import pytest

from synth.errors import OutputError
from synth.planning import compare
from synth.planning.plot import write_plot

STARTS = {".png": b"\x89PNG", ".svg": b"<?xml"}


@pytest.mark.parametrize(("ending", "epsilons"), [(".png", ["1"]), (".svg", ["1/10", "1"])])
def test_a_plot_is_written(configure, tmp_path, ending, epsilons):
    config = configure((2, 3, 4), strategy="auto", total=5000)
    plans = compare(config, [Fraction(one) for one in epsilons], with_alternatives=True)
    path = tmp_path / f"plan{ending}"
    write_plot(plans, path)
    written = path.read_bytes()
    assert written.startswith(STARTS[ending])
    assert len(written) > 5_000
    write_plot(plans, path)
    assert path.read_bytes() == written


def test_other_endings_and_places_are_refused(configure, tmp_path):
    plans = compare(configure((2, 3)), [Fraction(1)], with_alternatives=True)
    with pytest.raises(OutputError, match="does not end in"):
        write_plot(plans, tmp_path / "plan.pdf")
    with pytest.raises(OutputError, match="could not be written"):
        write_plot(plans, tmp_path / "nowhere" / "plan.png")
