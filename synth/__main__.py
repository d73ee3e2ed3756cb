"""`python -m synth` is the command line."""

from synth.cli import main

main()
