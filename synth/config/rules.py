"""Rules on names, levels and other text: one pattern each, for the loader and the schema."""

from __future__ import annotations

import re
import unicodedata

from synth.config.scalars import Rule

PERIOD = "{period}"
PERIOD_PATTERN = r"^[a-z0-9-]{1,40}$"

NOT_EMPTY = Rule(r"\S", "text that is not empty")

NO_BLANK_ENDS = Rule(
    r"^\S(?:[\s\S]*\S)?$",
    "text without blanks at its ends",
    why="they cannot be seen, and another spelling would be another account",
)

ONE_LINE = Rule(
    "^[^\\u0000-\\u001f\\u007f-\\u009f\\u2028\\u2029\\u202a-\\u202e\\u2066-\\u2069]*$",
    "one line without control characters",
    why="line ends, tabs and invisible marks break tables, or show text other than it is",
)

NO_CONTROLS = Rule(
    "^[^\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f\\u202a-\\u202e\\u2066-\\u2069]*$",
    "text without control characters",
)

_UNSEEN = "\\s\\u200b-\\u200d\\u2060\\ufeff"
"""Blanks and marks of no width: a spreadsheet may drop them, at the start of a file at least."""

_SIGNS = "=+\\-@\\uff1d\\uff0b\\uff0d\\uff20"
"""Also in the width of East Asian letters, in which some spreadsheets read them alike."""

NO_FORMULA = Rule(
    rf"^[{_UNSEEN}]*(?:[^{_SIGNS}{_UNSEEN}]|"
    r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?\s*$)",
    "text that does not begin with = + - or @, or a plain number",
    why="a spreadsheet that opens the published file would run it as a formula",
    fix="rename it in the source, for example with a word in front",
)

RELEASE_ID = Rule(
    r"^(?:[a-z0-9]|\{period\})(?:[a-z0-9-]|\{period\})*$",
    "small letters a-z, digits and hyphens, not beginning with a hyphen; may hold {period}",
    why="the id names the release folder, the same on every system",
)

WEB_ADDRESS = Rule(
    r"^https?://[A-Za-z0-9.-]+(?::[0-9]+)?(?:/[A-Za-z0-9._~!$&()*+,;=:@%/-]*)?$",
    "an address such as https://example.org/data/people-2020/",
    why="it is published as a link, so it holds no blanks, quotes or queries",
)

LANGUAGE = Rule(
    "^[A-Za-z]{2,3}(?:-[A-Za-z0-9]{2,8})*$", "a language tag of BCP 47, such as en or pt-BR"
)

_DAY = r"[0-9]{4}(?:-(?:0[1-9]|1[0-2])(?:-(?:0[1-9]|[12][0-9]|3[01]))?)?"
COVERAGE = Rule(
    rf"^{_DAY}(?:/{_DAY})?$",
    "a year, month or day, or two with / between, such as 2020-01/2020-12",
)

SOURCE_FILE = Rule(
    r"\.(?:(?:[cC][sS][vV]|[tT][sS][vV]|[tT][xX][tT])(?:\.[gG][zZ])?|[pP][aA][rR][qQ][uU][eE][tT])$",
    "a file name or glob that ends in .csv, .csv.gz or .parquet (or .tsv, .txt)",
)

NO_CREDENTIALS = Rule(
    r"^(?!.*@)(?!.*[?&](?:user|password|passfile|passwd)=)",
    "an address without user and password",
    why="a configuration is shown to others, and the environment is not",
    fix="give them by PGUSER and PGPASSWORD, PGPASSFILE or PGSERVICE, as for psql",
    found="an address with a user or a password",
)

_SETTING = (
    "(?:host|port|sslmode|sslrootcert|sslcrl|channel_binding|gssencmode|connect_timeout"
    "|target_session_attrs|load_balance_hosts)=[^&#?]*"
)
DATABASE_ADDRESS = Rule(
    rf"^postgres(?:ql)?://[^@/?#\s]*(?:/[^@/?#\s]*)?(?:\?{_SETTING}(?:&{_SETTING})*)?$",
    "an address such as postgresql://host:5432/database?sslmode=verify-full",
    why="settings other than host, port, TLS and time limits are not for a configuration",
)

DATABASE_TABLE = Rule(
    r"^[^.]+(?:\.[^.]+)?$",
    "table or schema.table, as the database stores the names, without quotes",
)

ONE_CHARACTER = Rule(
    "^[\\t\\u0020-\\u007e]$",
    "one ASCII character, or one of the words tab, comma, semicolon, pipe",
    fix="write a tab as the word tab",
)

QUOTE_CHARACTER = Rule("^[\\u0020-\\u007e]?$", 'one ASCII character, or "" for none')

ESCAPE_CHARACTER = Rule(
    "^[\\u0020-\\u007e]$",
    "one ASCII character",
    fix="leave `escape` out where quotes in a quoted field are doubled, or nothing is escaped",
)

_PARTS = (2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 14, 15, 16)
ENCODINGS = ("utf-8", "latin-1", "windows-1252", *(f"iso-8859-{part}" for part in _PARTS))
"""Encodings in which the bytes of ASCII mean ASCII, so that delimiters can be found."""

_ENCODINGS_BY_OTHER_NAMES = {
    "utf-8": ("utf8", "utf_8"),
    "latin-1": ("latin1", "latin_1", "iso-8859-1", "iso8859-1", "iso_8859_1", "l1"),
    "windows-1252": ("windows1252", "windows_1252", "cp1252", "cp-1252"),
    **{f"iso-8859-{n}": (f"iso8859-{n}", f"iso_8859_{n}") for n in _PARTS},
    "iso-8859-15": ("iso8859-15", "iso_8859_15", "latin-9", "latin9"),
}
ENCODING_NAMES = {
    written: encoding
    for encoding, others in _ENCODINGS_BY_OTHER_NAMES.items()
    for name in (encoding, *others)
    for written in (name, name.upper(), name.capitalize())
    if written != encoding
}
"""What else the encodings are called."""

DELIMITER_NAMES = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "pipe": "|"}


UNSEEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2065\u2800\u3164\ufe00-\ufe0f"
    "\uffa0\ufff0-\ufff8\U000e0000-\U000e0fff]"
)
"""Characters that show nothing and are no format marks (Cf): those which Unicode calls ignorable by
default (DerivedCoreProperties, Default_Ignorable_Code_Point), and the empty Braille pattern."""


def as_read(name: str) -> str:
    """A name of people without what a reader overlooks; who is the same has one of them.

    Blanks and marks of no width go, and so do capital letters and the ways in which Unicode
    writes one letter (NFKC).
    """
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
    seen = (letter for letter in folded if unicodedata.category(letter) != "Cf")
    return "".join(UNSEEN.sub("", "".join(seen)).split())
