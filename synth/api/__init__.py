"""The commands as functions, for programs and notebooks; `synth` shows them under their names.

Each does what the command of its name does, and gives what that prints: as a value with a short
`repr`, and as text with `print`. `run`, `rehearse` and `verify` are functions of the job itself.
"""
