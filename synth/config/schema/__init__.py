"""The schema of a file, declared once: what reads its text, checks it, and describes it.

A frozen dataclass declares a record: a field is a key, its annotation the shape of the value with
bounds and words, its default what counts where the key is not written. From that one statement the
loader reads a file (`Record.read`), a manifest gets its normal form (`Record.plain`) and an editor
its JSON Schema (`Record.schema`).
"""
