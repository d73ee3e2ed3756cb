"""The files that a source names: none is an error that says where they may have gone."""

import pytest

from synth.config.source_files import source_files
from synth.config.types import Dialect, FileSource
from synth.errors import SourceError


@pytest.mark.parametrize(("disposal", "told"), [("delete", True), ("keep", False)])
@pytest.mark.parametrize("name", ["gone.csv", "gone-*.csv"])
def test_a_source_that_is_deleted_after_a_run_is_missed_in_these_words(
    tmp_path, name, disposal, told
):
    source = FileSource(tmp_path / name, Dialect(), disposal, "")
    with pytest.raises(SourceError, match="names no file") as caught:
        source_files(source)
    assert ("deleted after an earlier run" in caught.value.why) == told
