"""Terms to write a JSON Schema in: every node has a description, every object is closed."""

from __future__ import annotations

from typing import Any

Schema = dict[str, Any]

BASES = ("dp", "post-processing", "public", "unprotected")

BASIS_DESCRIPTION = (
    "What the numbers of this object (and of objects in it that name no basis of their own) are "
    "based on: `public` - known before the raw data were opened; `dp` - differentially private "
    "noisy measurements; `post-processing` - computed from those; `unprotected` - neither."
)


def text(description: str, *, pattern: str | None = None) -> Schema:
    """Any text."""
    term: Schema = {"type": "string", "description": description}
    return term | ({"pattern": pattern} if pattern else {})


def one_of(description: str, *values: str) -> Schema:
    """One word of a fixed list."""
    return {"type": "string", "enum": list(values), "description": description}


def whole(description: str, *, minimum: int | None = 0) -> Schema:
    """A whole number."""
    term: Schema = {"type": "integer", "description": description}
    return term | ({} if minimum is None else {"minimum": minimum})


def real(description: str) -> Schema:
    """A real number."""
    return {"type": "number", "description": description}


def flag(description: str) -> Schema:
    """True or false."""
    return {"type": "boolean", "description": description}


def sha256(description: str) -> Schema:
    """A SHA-256 hash in lower-case hexadecimal."""
    return text(description, pattern="^[0-9a-f]{64}$")


def day(description: str) -> Schema:
    """A date, no finer than the day."""
    return text(description, pattern=r"^\d{4}-\d{2}-\d{2}$")


def listing(description: str, items: Schema) -> Schema:
    """A list whose items all have one form."""
    return {"type": "array", "items": items, "description": description}


def record(description: str, optional: tuple[str, ...] = (), /, **fields: Schema) -> Schema:
    """A closed object; every field is required unless it is named in `optional`."""
    return {
        "type": "object",
        "description": description,
        "properties": fields,
        "required": [name for name in fields if name not in optional],
        "additionalProperties": False,
    }


def mapping(description: str, values: Schema, *, names: str) -> Schema:
    """An object whose keys are names from the domain; `names` says which."""
    return {
        "type": "object",
        "description": description,
        "propertyNames": {"type": "string", "description": names},
        "additionalProperties": values,
    }


DEFINITIONS: dict[str, Schema] = {
    **{
        f"basis_{name}": {"type": "string", "enum": [name], "description": BASIS_DESCRIPTION}
        for name in BASES
    },
    "exact": record(
        "An exact number, and its decimal form.",
        fraction=text("The exact value, as numerator/denominator.", pattern=r"^-?\d+/\d+$"),
        decimal=text(
            "The value in decimals: exact where it ends within 15 decimals, else rounded up.",
            pattern=r"^-?\d+(\.\d+)?$",
        ),
    ),
    "attributes": listing("Attributes.", text("An attribute's name.")),
    "budget": record(
        "A privacy loss.",
        epsilon={"description": "The parameter epsilon.", "$ref": "#/$defs/exact"},
        delta={"description": "The parameter delta.", "$ref": "#/$defs/exact"},
    ),
}
"""What many places of the schema have in common: `$defs` of the manifest's schema."""


def defined(name: str, description: str) -> Schema:
    """A place of which `DEFINITIONS` say what it is."""
    return {"description": description, "$ref": f"#/$defs/{name}"}


def basis(*bases: str) -> Schema:
    """The `basis` field of an object: one of `bases`."""
    if len(bases) == 1:
        return defined(f"basis_{bases[0]}", "What the numbers are based on.")
    return {"type": "string", "enum": list(bases), "description": BASIS_DESCRIPTION}


def exact(description: str) -> Schema:
    """An exact number as a fraction, with its decimal form."""
    return defined("exact", f"{description} The fraction is exact.")


def attributes(description: str) -> Schema:
    """The names of some attributes."""
    return defined("attributes", description)
