"""The release page, `index.html`: what a reader sees first, made from the release alone."""

from synth.release.page.render import render_page

__all__ = ["render_page"]
