"""The index of all releases for the public: a page, a feed and JSON, from public files alone."""

from synth.catalogue.index import INDEX_FILES, Rebuilt, listed, rebuild

__all__ = ["INDEX_FILES", "Rebuilt", "listed", "rebuild"]
