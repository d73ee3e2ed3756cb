"""The page on accuracy: its comparison with peers is what its command prints."""

from tests.docs.carried_out import printed_by
from tests.docs.test_signing_page import DOCS


def test_the_comparison_is_the_one_of_the_results():
    printed = printed_by("benchmarks/accuracy_plots.py", "--markdown")
    assert len(printed.splitlines()) > 20
    assert f"\n{printed}\n" in (DOCS / "accuracy.md").read_text(encoding="utf-8")
