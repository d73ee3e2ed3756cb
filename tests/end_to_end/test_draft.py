"""`synth draft` from the command line: what it infers, marks, refuses, and never says."""

import json
import re
import stat
import subprocess
from datetime import date, datetime

import pandas as pd
import pytest
import yaml

from tests.command_line import synth, words_of_synth

CANARY = "canary-4711"


def people(number=200):
    """Made-up records with a column of every kind."""
    rows = [
        {
            "id": f"P{n:06}",
            "serial": 1_000_000 + 7 * n,
            "age": 18 + n * 7 % 71,
            "income": f"{n * 37 % 1000}.5",
            "sex": ["f", "m", "NA"][n % 3],
            "town": ["Nord", "Süd", "=1+1"][n % 3],
            "code": f"0{n % 9}",
            "visit": f"2020-01-{n % 28 + 1:02}",
            "seen": f"20{n % 90 + 10}-03-04",
            "born": f"{n % 28 + 1}.{n % 12 + 1}.{1950 + n % 40}",
            "at": f"2024-01-{n % 28 + 1:02} 1{n % 10}:00:00",
            "note": f"{CANARY}-{n % 150}",
            "none": "",
            "flag": n % 2,
            "member": n % 3 == 0,
            "agrees": ["yes", "NO", "NA"][n % 3],
        }
        for n in range(number)
    ]
    return pd.DataFrame(rows)


def drafted(path):
    """The domain of a draft, without marks, and the lines that are marked."""
    text = path.read_text()
    domain = yaml.safe_load(text.replace("!CONFIRM", ""))["domain"]
    lines = text.splitlines()
    marked = [number for number, line in enumerate(lines, 1) if ": !CONFIRM" in line]
    return {column["name"]: column for column in domain}, marked, text


@pytest.fixture(params=["people.csv", "people.parquet"])
def table(request, tmp_path):
    path = tmp_path / request.param
    if path.suffix == ".parquet":
        people().to_parquet(path)
    else:
        path.write_text(people().to_csv(index=False))
    return path


def test_every_format_gives_a_private_draft_that_no_command_accepts(table, tmp_path):
    config = tmp_path / "config.yaml"
    before = set(tmp_path.iterdir())
    done = synth("draft", table, "-o", config)
    assert done.returncode == 0, done.stderr
    assert "WARNING" in done.stderr
    assert "PRIVATE" in done.stderr
    assert done.stdout == f"{config}\n"
    assert set(tmp_path.iterdir()) - before == {config}
    assert stat.S_IMODE(config.stat().st_mode) == 0o600
    columns, marked, text = drafted(config)
    assert list(columns) == [
        "age",
        "income",
        "sex",
        "town",
        "code",
        "visit",
        "seen",
        "born",
        "at",
        "flag",
        "member",
        "agrees",
    ]
    assert (columns["age"]["minimum"], columns["age"]["maximum"]) == (15, 89)
    assert columns["income"]["type"] == "number"
    assert columns["sex"]["levels"] == ["f", "m"]
    assert columns["sex"]["missing"] == ["", "NA"]
    assert columns["code"]["levels"] == [f"0{n}" for n in range(9)]
    assert columns["flag"]["levels"] == ["0", "1"]
    assert "missing" not in columns["town"], "none was missing"
    assert columns["town"]["out_of_domain"] == columns["town"]["levels"][0]
    day = {"out_of_domain": "clamp", "source": None, "resolution": "day"}
    assert {key: str(columns["visit"][key]) for key in ("type", "first", "last")} == {
        "type": "date", "first": "2020-01-01", "last": "2020-12-31",
    }  # fmt: skip
    assert columns["born"]["format"] == "%d.%m.%Y"
    assert str(columns["born"]["first"]), str(columns["born"]["last"]) == (
        "1950-01-01",
        "1989-12-31",
    )
    assert columns["at"].items() >= {**day, "type": "datetime"}.items()
    assert columns["member"]["type"] == columns["agrees"]["type"] == "boolean"
    assert columns["agrees"]["missing"] == ["", "NA"]
    for name in ("id", "serial", "note", "none"):
        assert re.search(rf"^# left out: {name}: ", text, re.MULTILINE), name
    assert CANARY not in text + done.stdout + done.stderr
    for command in ("check", "plan", "run", "measure") if table.suffix == ".csv" else ("run",):
        refused = synth(command, config)
        assert refused.returncode == 2, command
        assert [int(n) for n in re.findall(r"^  line (\d+)", refused.stderr, re.M)] == marked
        assert "Nord" not in refused.stdout + refused.stderr
    assert set(tmp_path.iterdir()) - before == {config}


def confirmed(config):
    """Confirm every entry of a draft, in words of its own where it has none."""
    text = config.read_text()
    for key in ("title", "description", "contact", "intended_use", "region", "sector", "source",
                "disposal_reason", "justification", "population"):  # fmt: skip
        text = re.sub(rf"^( +{key}:) !CONFIRM$", r"\1 from a codebook", text, flags=re.MULTILINE)
    text = text.replace("curators: !CONFIRM []", "curators: [Test Office]")
    config.write_text(text.replace("!CONFIRM ", ""))


def test_a_file_of_spss_brings_its_labels_and_missing_codes(tmp_path):
    import pyreadstat

    columns = {
        "smokes": [0.0, 1.0, 8.0, 9.0, None] * 40,
        "kids": [0.0, 1.0, 2.0, 5.0, 99.0] * 40,
        "sex": ["f", "m", "f", "X", ""] * 40,
        "born": [date(1950, 3, 1 + n % 7) for n in range(200)],
        "note": [f"{CANARY}-{n}" for n in range(200)],
    }
    pyreadstat.write_sav(
        pd.DataFrame(columns), tmp_path / "people.sav",
        column_labels={"smokes": "Do you smoke?"},
        variable_value_labels={
            "smokes": {0: "No", 1: "Yes", 2: "At parties", 8: "Refused", 9: "Not asked"},
            "kids": {5: "five or more", 99: "not asked"},
            "sex": {"f": "female", "m": "male", "X": "not told"},
        },
        missing_ranges={"smokes": [{"lo": 8, "hi": 9}], "kids": [99], "sex": ["X"]},
    )  # fmt: skip
    config = tmp_path / "config.yaml"
    done = synth("draft", "people.sav", "-o", config, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found, marked, text = drafted(config)
    assert list(found) == ["smokes", "kids", "sex", "born"]
    smokes, kids, sex, born = found.values()
    assert (smokes["levels"], smokes["missing"]) == (["0", "1", "2"], ["", "8", "9"])
    assert smokes["labels"]["2"] == "At parties", "a level that nobody has"
    assert smokes["title"] == "Do you smoke?"
    assert (kids["maximum"], kids["missing"]) == (5, ["", "99"])
    assert kids["labels"] == {"5": "five or more", "99": "not asked"}
    assert (sex["levels"], sex["missing"]) == (["f", "m"], ["", "X"])
    assert (born["type"], str(born["first"]), born["resolution"]) == ("date", "1950-01-01", "day")
    assert synth("check", config).returncode == 2
    assert CANARY not in text
    lines = text.splitlines()
    assert all("!CONFIRM" in line for line in lines if line.strip().startswith("labels:"))
    assert {number for number, line in enumerate(lines, 1) if "labels:" in line} <= set(marked)
    confirmed(config)
    assert synth("check", config).returncode == 0


def visits(number=600):
    """Records of codes and amounts as registers have them; several are one patient's."""
    amounts = [0, 0, 0, 12.5, 80, 95.25, 130, 480, 2_300, 61_000]
    rows = [
        {
            "patient_id": f"K{n * 7 % 211:05}",
            "schooling": [1, 2, 3, 4, 5, 99][n % 6],
            "smokes": [0, 1, 2, 9][n % 4],
            "children": n % 7,
            "asked": [1.0, 2.0, 3.0, 9.0, None][n % 5],
            "weight": 9999 if n % 10 == 0 else 40 + n * 13 % 90,
            "cost": amounts[n * 3 % 10],
            "district": 100 + n % 150,
        }
        for n in range(number)
    ]
    return pd.DataFrame(rows)


@pytest.mark.parametrize("name", ["visits.csv", "visits.parquet"])
def test_codes_amounts_and_persons_are_drafted_as_they_are_meant(tmp_path, name):
    is_csv = name.endswith("csv")
    if is_csv:
        visits().to_csv(tmp_path / name, index=False)
    else:
        visits().to_parquet(tmp_path / name)
    config = tmp_path / "config.yaml"
    done = synth("draft", name, "-o", config, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found, marked, text = drafted(config)
    assert list(found) == ["schooling", "smokes", "children", "asked", "weight", "cost", "district"]
    schooling, smokes, children, asked, weight, cost, _ = found.values()
    assert (schooling["levels"], schooling["missing"]) == ([*"12345"], ["", "99"])
    assert (smokes["levels"], smokes["missing"]) == ([*"012"], ["", "9"])
    assert (children["type"], children["minimum"], children["maximum"]) == ("integer", 0, 6)
    nine = "9.0" if is_csv else "9"
    assert asked["missing"] == ["", nine]
    assert (weight["minimum"], weight["maximum"], weight["missing"]) == (40, 129, ["", "9999"])
    assert cost["edges"][:2] == [0, 10], "zero has a bin of its own"
    assert cost["edges"][-1] == 100_000
    plain = yaml.safe_load(text.replace("!CONFIRM", ""))
    assert plain["privacy"]["unit"] == {"column": "patient_id", "max_records": 5}
    assert plain["workload"]["expected_records"] == 500
    assert plain["ledger"]["epsilon_cap"] > plain["privacy"]["epsilon"]
    assert re.search("^# left out: patient_id: the unit of privacy", text, re.MULTILINE)
    for key in ("unit:", "expected_records:", "epsilon_cap:"):
        assert any(key in text.splitlines()[number - 1] for number in marked), key
    if is_csv:
        confirmed(config)
        fits = synth("inspect", config)
        assert fits.returncode == 0, fits.stderr
        assert "No trouble was found: every value fits the domain." in fits.stdout


@pytest.mark.parametrize("words", [(), ("--decimal", ",")])
def test_marks_between_thousands_are_no_reason_to_call_an_amount_a_name(tmp_path, words):
    amounts = [f"{n % 9}.{n:03},{n % 90 + 10}" if n % 3 else f"{n},50" for n in range(200)]
    rows = [f'"{amount}",note {n}' for n, amount in enumerate(amounts)]
    (tmp_path / "pay.csv").write_text("\n".join(["pay,note", *rows]))
    done = synth("draft", "pay.csv", *words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "config.yaml").read_text()
    assert "# left out: pay: numbers with marks between thousands" in text
    assert "# left out: note: nearly every record has a value of its own" in text


@pytest.mark.parametrize("name", ["stays.csv", "stays.parquet"])
def test_a_day_at_the_end_of_time_is_drafted_as_missing(tmp_path, name):
    ends = [date(2023, 1 + n % 12, 1 + n % 28) if n % 5 else date(9999, 12, 31) for n in range(200)]
    stays = pd.DataFrame({"until": ends})
    if name.endswith("csv"):
        stays["moved"] = [f"{d.day}.{d.month}.{d.year}" for d in ends]
        stays["never"] = date(9999, 12, 31)
        stays.to_csv(tmp_path / name, index=False)
    else:
        stays["at"] = pd.array([datetime(d.year, d.month, d.day) for d in ends], "datetime64[us]")
        stays.to_parquet(tmp_path / name)
    config = tmp_path / "config.yaml"
    done = synth("draft", name, "-o", config, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found, _, _ = drafted(config)
    assert list(found) == list(stays)
    for name, column in found.items():
        year = "9999" if name == "never" else "2023"
        assert (str(column["first"]), str(column["last"])) == (f"{year}-01-01", f"{year}-12-31")
        assert len(column["missing"]) == 2
    confirmed(config)
    fits = synth("inspect", config, "--json")
    assert fits.returncode == 0, fits.stderr
    for column in json.loads(fits.stdout)["columns"]:
        missing = 200 if column["name"] == "never" else 40
        assert (column["fits"], column["declared_missing"]) == (200 - missing, missing), column


def test_a_workbook_with_dates_and_sheets_is_drafted_and_read(tmp_path):
    import openpyxl

    book = openpyxl.Workbook()
    book.active.title = "about"
    sheet = book.create_sheet("visits")
    sheet.append(["day", "age", "member"])
    for n in range(120):
        sheet.append([datetime(2020, 1, n % 28 + 1), 18 + n % 40, n % 3 == 0])
    book.save(tmp_path / "people.xlsx")
    refused = synth("draft", "people.xlsx", cwd=tmp_path)
    assert refused.returncode == 1
    assert "write `sheet` in source" in refused.stderr
    config = tmp_path / "config.yaml"
    done = synth("draft", "people.xlsx", "--sheet", "visits", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found, _, text = drafted(config)
    assert "  sheet: visits\n" in text
    assert (found["day"]["type"], str(found["day"]["first"])) == ("date", "2020-01-01")
    assert (found["age"]["type"], found["member"]["type"]) == ("integer", "boolean")
    confirmed(config)
    fits = synth("inspect", config, "--json")
    assert fits.returncode == 0, fits.stderr
    assert json.loads(fits.stdout)["records"] == 120


def test_a_confirmed_draft_is_accepted_and_published(tmp_path):
    people()[["age", "sex", "flag", "member", "agrees"]].to_csv(
        tmp_path / "people.csv", index=False
    )
    (tmp_path / "configs").mkdir()
    config = tmp_path / "configs" / "config.yaml"
    done = synth("draft", "people.csv", "-o", config, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    text = config.read_text()
    for key in ("title", "description", "contact", "intended_use", "region", "sector", "source",
                "disposal_reason", "justification", "population"):  # fmt: skip
        text = re.sub(rf"^( +{key}:) !CONFIRM$", r"\1 from a codebook", text, flags=re.MULTILINE)
    text = text.replace("curators: !CONFIRM []", "curators: [Test Office]")
    config.write_text(text)
    assert 'path: !CONFIRM "../state/ledger.sqlite"' in text, "both beneath the working directory"
    assert synth("check", config).returncode == 2
    config.write_text(text.replace("!CONFIRM ", ""))
    done = synth("run", config)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "outputs" / "my-release" / "manifest.json").exists()


def test_nothing_is_written_over_and_nothing_read_for_a_path_that_cannot_be_written(tmp_path):
    people().to_csv(tmp_path / "people.csv", index=False)
    (tmp_path / "config.yaml").write_text("mine")
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    for output in ("config.yaml", "link", "nowhere/config.yaml", "."):
        refused = synth("draft", "people.csv", "-o", output, cwd=tmp_path)
        assert refused.returncode == 1, output
        assert "WARNING" not in refused.stderr
    assert (tmp_path / "config.yaml").read_text() == "mine"
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ([], 2),
        (["nowhere.csv"], 1),
        (["people.xls"], 2),
        (["people.csv", "--url", "postgresql://localhost/x"], 2),
        (["--url", "postgresql://localhost/x"], 2),
        (["--url", "postgresql://me:secret@localhost/x", "--table", "people"], 2),
        (["people.csv", "--levels", "0"], 2),
        (["people.csv", "--delimiter", "ab"], 2),
        (["people.csv", "--encoding", "utf-16"], 2),
        (["people.csv", "--resource", "x"], 2),
        (["empty.csv"], 1),
        (["broken.csv.gz"], 1),
        (["broken.parquet"], 1),
        (["--from-datapackage", "nowhere.json"], 2),
    ],
)
def test_bad_input_has_its_exit_code_and_leaves_nothing(tmp_path, words, code):
    people(5).to_csv(tmp_path / "people.csv", index=False)
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "broken.csv.gz").write_bytes(b"no gzip " + CANARY.encode())
    (tmp_path / "broken.parquet").write_bytes(b"no parquet " + CANARY.encode())
    before = set(tmp_path.iterdir())
    refused = synth("draft", *words, cwd=tmp_path)
    assert refused.returncode == code, refused.stderr
    assert "Traceback" not in refused.stderr
    assert CANARY not in refused.stderr
    assert "secret" not in refused.stderr
    assert set(tmp_path.iterdir()) == before


@pytest.mark.parametrize("content", ["a,b\n", "a,b\n1,x\n", "a,a\n1,2\n", '"a\nb",c\n1,2\n'])
def test_tiny_and_odd_tables_are_drafted(tmp_path, content):
    (tmp_path / "odd.csv").write_text(content)
    done = synth("draft", "odd.csv", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    _, _, text = drafted(tmp_path / "config.yaml")
    assert 'path: !CONFIRM "state/ledger.sqlite"' in text
    assert "directory: outputs\n" in text
    assert synth("check", "config.yaml", cwd=tmp_path).returncode == 2


def test_a_codebook_opens_no_data_and_leaves_little_to_confirm(tmp_path):
    fields = [
        {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 99}},
        {"name": "sex", "type": "string", "constraints": {"enum": ["f", "m"]}},
        {"name": "free", "type": "string"},
    ]
    package = {"resources": [{"name": "t", "path": "t.csv", "schema": {"fields": fields}}]}
    (tmp_path / "datapackage.json").write_text(json.dumps(package))
    done = synth("draft", "nowhere.csv", "--from-datapackage", "datapackage.json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    columns, marked, text = drafted(tmp_path / "config.yaml")
    assert columns["age"]["source"] == "codebook datapackage.json (field age)"
    lines = text.splitlines()
    in_domain = [lines[number - 1].strip() for number in marked if number > lines.index("domain:")]
    assert in_domain == ["levels: !CONFIRM []"]


def test_a_stop_while_the_data_are_read_leaves_nothing(tmp_path):
    (tmp_path / "people.csv").write_text("age\n" + "41\n" * 3_000_000)
    command = [*words_of_synth(), "draft", "people.csv"]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as process:
        for line in process.stderr:
            if "public codebook" in line:
                process.terminate()
    assert process.returncode == 130
    assert [path.name for path in tmp_path.iterdir()] == ["people.csv"]


MENDED_NOWHERE_ELSE = ("--delimiter tab", "--encoding windows-1252")
"""With the other options test_twelve_files.py goes on to a release."""


@pytest.mark.parametrize(
    ("content", "hint", "words"),
    [
        (b"age;sex\n34;f\n41;m\n", "--delimiter semicolon", ["--delimiter", "semicolon"]),
        (b"age\tsex\n34\tf\n41\tm\n", "--delimiter tab", ["--delimiter", "tab"]),
        ("town\nS\u00fcd\nNord\n".encode("latin-1"), "--encoding windows-1252",
         ["--encoding", "cp1252"]),
        (b'cost\n"1,5"\n"2,25"\n"3,5"\n', "--decimal ,", ["--decimal", ","]),
        (b"34,Female\n67,Male\n34,Male\n", "--no-header", ["--no-header"]),
        (b"sex\nsex\nother\n", "--no-header", ["--no-header"]),
    ],
)  # fmt: skip
def test_a_file_that_is_read_wrongly_is_told_with_the_option_that_mends_it(
    tmp_path, content, hint, words
):
    (tmp_path / "odd.csv").write_bytes(content)
    done = synth("draft", "odd.csv", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert hint in done.stderr
    assert (
        f"# LOOK: {done.stderr.split('LOOK: ')[1].splitlines()[0]}"
        in (tmp_path / "config.yaml").read_text()
    )
    assert "Female" not in done.stderr
    if hint in MENDED_NOWHERE_ELSE:
        done = synth("draft", "odd.csv", *words, "-o", "mended.yaml", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert "LOOK" not in done.stderr


def test_an_index_without_a_name_is_left_out_and_the_rest_drafted(tmp_path):
    people()[["age", "sex"]].to_csv(tmp_path / "people.csv")
    done = synth("draft", "people.csv", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "--no-header" not in done.stderr
    columns, _, text = drafted(tmp_path / "config.yaml")
    assert list(columns) == ["age", "sex"]
    assert '# left out: "": the header gives it no name' in text


def test_a_file_without_names_gets_some_that_must_be_confirmed(tmp_path):
    rows = "".join(f"{n % 7},{'fm'[n % 2]}\n" for n in range(60))
    (tmp_path / "people.csv").write_text(rows)
    done = synth("draft", "people.csv", "--no-header", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    columns, _, text = drafted(tmp_path / "config.yaml")
    assert "header: !CONFIRM [c1, c2]" in text
    assert "- name: !CONFIRM c1" in text
    assert columns["c2"]["levels"] == ["f", "m"]
    assert synth("draft", "people.csv", "-o", "other.yaml", cwd=tmp_path).returncode == 0
    assert '- name: !CONFIRM "0"' in (tmp_path / "other.yaml").read_text()
