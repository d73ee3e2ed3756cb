"""`docs/deploy/`: the files are read as their programs read them, and their commands are run."""

import configparser
import inspect
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from synth.cli import COMMANDS
from synth.errors import DISTRIBUTION
from synth.policy import load_policy
from tests.command_line import write_program

DEPLOY = Path(__file__).parents[2] / "docs" / "deploy"
ROOT = DEPLOY.parents[1]
SERVICE, TIMER = DEPLOY / "synth@.service", DEPLOY / "synth@.timer"
FAILURE, DATABASE = DEPLOY / "synth-failure@.service", DEPLOY / "postgresql.conf"
UNITS = (SERVICE, TIMER, FAILURE)
PERIOD = (datetime.now(UTC).date().replace(day=1) - timedelta(days=1)).strftime("%Y-%m")
BARE = {"PATH": "/usr/bin:/bin"}
"""What cron gives a job, more or less."""


class Unit(configparser.RawConfigParser):
    """A unit file: keys may repeat, and keep their case."""

    def __init__(self, path):
        self.repeated = {}
        lines = []
        section = ""
        for line in path.read_text().splitlines():
            if line.startswith("["):
                section = line.strip("[]")
            elif line and not line.startswith("#"):
                key, value = line.split("=", 1)
                self.repeated.setdefault((section, key), []).append(value)
            lines.append(line)
        super().__init__(strict=False, delimiters=("=",), comment_prefixes=("#",))
        self.optionxform = str
        self.read_string("\n".join(lines))

    def of(self, key, section="Service"):
        return self[section][key]


@pytest.fixture
def place(project, tmp_path):
    """A place like the one that the files describe: a series whose first month is the last one."""
    path = project(
        release={"id": "small-{period}"},
        source={"path": "people-{period}.csv"},
        series={"every": "month", "first": PERIOD, "rows": "new", "horizon": 12},
        ledger={"path": "state/ledger.sqlite"},
    )
    (tmp_path / f"people-{PERIOD}.csv").write_bytes((tmp_path / "people.csv").read_bytes())
    shutil.move(path, tmp_path / "sales.yaml")
    (tmp_path / "policy.yaml").write_text(
        "policy_version: 1\nepsilon: 1\npopulations: {nobody: {epsilon_cap: 2}}\n"
        "units: [record]\nneighbours: [add-remove]\ndisposal: [keep]\n"
    )
    program = tmp_path / "synth"
    start = f"#!/bin/sh\nPYTHONPATH={shlex.quote(str(ROOT))} exec {sys.executable} -m synth "
    program.write_text(start + '"$@"\n')
    program.chmod(0o755)
    return tmp_path


def here(command, place):
    """The command with its paths in this place."""
    for there, local in (
        ("/opt/synth/bin/synth", place / "synth"),
        ("/etc/synth/", f"{place}/"),
        ("/var/log/synth/", f"{place}/log/"),
        ("/var/lib/synth/", f"{place}/"),
        ("/usr/sbin/sendmail", str(place / "sendmail")),
    ):
        command = command.replace(there, str(local))
    return command


def require_published(place):
    log = (place / "log" / "sales.jsonl").read_text()
    stages = [json.loads(line)["stage"] for line in log.splitlines()]
    assert stages[-1] == "published", log
    assert (place / "outputs" / f"small-{PERIOD}" / "manifest.json").exists()
    assert (place / "log" / "sales.jsonl").stat().st_mode & 0o077 == 0


def exec_start(place, unit=SERVICE):
    """The words of ExecStart, as systemd would pass them for the instance `sales`."""
    line = Unit(unit).of("ExecStart").replace("%i", "sales").replace("%%", "%")
    assert "%i" not in line
    return [here(word.replace("$$", "$"), place) for word in shlex.split(line)]


def environment_of_the_service(place):
    found = {}
    for line in Unit(SERVICE).repeated["Service", "Environment"]:
        found |= dict(word.split("=", 1) for word in shlex.split(line))
    return {name: here(value, place) for name, value in found.items()}


def test_the_command_of_the_service_publishes_what_is_due_and_says_nothing(place):
    write_program(place / "synth")
    environment = environment_of_the_service(place)
    command = exec_start(place)
    given = {"env": environment, "cwd": place, "capture_output": True, "text": True}
    ran = subprocess.run(command, check=False, **given)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")
    require_published(place)
    shutil.rmtree(place / "state")
    shutil.rmtree(place / "outputs")
    policy = place / "policy.yaml"
    policy.write_text(policy.read_text().replace("epsilon: 1\n", "epsilon: 1/2\n"))
    again = subprocess.run(command, check=False, **given)
    assert again.returncode == 4, "the environment of the service names the policy"


@pytest.mark.parametrize("has_mail", [True, False])
def test_a_failure_reaches_the_journal_and_a_person_where_there_is_mail(place, has_mail):
    write_program(place / "synth")
    if has_mail:
        (place / "sendmail").write_text('#!/bin/sh\ntest "$1" = -t && exec cat > mail\n')
        (place / "sendmail").chmod(0o755)
    (place / f"people-{PERIOD}.csv").unlink()
    given = {"env": environment_of_the_service(place), "cwd": place, "text": True}
    failed = subprocess.run(exec_start(place), check=False, capture_output=True, **given)
    assert failed.returncode == 1
    assert Unit(SERVICE).of("OnFailure", "Unit") == FAILURE.name.replace("@.", "@%i.")
    told = subprocess.run(exec_start(place, FAILURE), check=False, capture_output=True, **given)
    assert (told.returncode, told.stderr) == (0, "")
    assert f"failed      {PERIOD}: source.path names no file" in told.stdout
    assert (place / "mail").exists() == has_mail
    if has_mail:
        head, body = (place / "mail").read_text().split("\n\n", 1)
        assert head == "To: root\nSubject: synth: sales needs a person"
        assert body == told.stdout


def test_systemd_finds_nothing_wrong_and_little_exposed(tmp_path):
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("needs systemd-analyze")
    units = [tmp_path / path.name for path in UNITS]
    for path in UNITS:  # systemd looks whether the program is there
        text = path.read_text().replace("/opt/synth/bin/synth", "/bin/true")
        (tmp_path / path.name).write_text(text)
    command = [analyze, "security", "--offline=true", "--threshold=10", units[0]]
    assert subprocess.run(command, capture_output=True, check=False).returncode == 0, "at most 1.0"
    drop_in = tmp_path / f"{SERVICE.name}.d"
    for extended in (False, True):
        if extended:
            drop_in.mkdir()
            shutil.copy(DATABASE, drop_in)
        checked = subprocess.run(
            [analyze, "verify", *units], capture_output=True, text=True, check=False
        )
        assert (checked.returncode, checked.stderr) == (0, "")
    calendar = Unit(TIMER).of("OnCalendar", "Timer")
    shown = subprocess.run(
        [analyze, "calendar", calendar], capture_output=True, text=True, check=False
    )
    assert shown.returncode == 0, shown.stderr


def test_the_drop_in_for_a_database_opens_the_network_and_shows_the_password_to_nobody_else():
    given = Unit(DATABASE)
    assert given.of("LoadCredential") == "pgpass:/etc/synth/pgpass"
    assert "PGPASSFILE=%d/pgpass" in given.of("Environment").split()
    assert given.of("PrivateNetwork") == "no"
    assert set(given.of("RestrictAddressFamilies").split()) == {"AF_UNIX", "AF_INET", "AF_INET6"}


HARDENING = {
    "PrivateTmp": "yes",
    "PrivateNetwork": "yes",
    "IPAddressDeny": "any",
    "LimitCORE": "0",
    "MemorySwapMax": "0",
    "NoNewPrivileges": "yes",
    "ProtectSystem": "strict",
    "ProtectHome": "yes",
    "UMask": "0077",
    "MemoryDenyWriteExecute": "yes",
    "CapabilityBoundingSet": "",
    "RestrictAddressFamilies": "AF_UNIX",
    "User": "synth",
    "KillMode": "mixed",
}


def test_the_service_is_closed_and_writes_in_two_places_only():
    service = Unit(SERVICE)
    assert {key: service.of(key) for key in HARDENING} == HARDENING
    once = {key: values for key, values in service.repeated.items() if len(values) > 1}
    assert set(once) == {("Service", "Environment"), ("Service", "SystemCallFilter")}
    assert service.of("ReadWritePaths") == "/srv/synth/releases"
    assert (service.of("StateDirectory"), service.of("LogsDirectory")) == ("synth", "synth")
    assert "/srv/synth/source" in service.of("ReadOnlyPaths").split()
    limit = int(re.search(r"--timeout (\d+)", service.of("ExecStart"))[1])
    assert int(service.of("TimeoutStartSec")) > limit, "systemd would come first"
    assert Unit(TIMER).of("Persistent", "Timer") == "true"


# As the service closes itself off, as far as this can be done by hand: no network, everything
# read-only but two directories, /proc without its files, no memory both writable and executable.
CLOSED = """
set -e
mount --make-rprivate /
mount --bind "$PWD" "$PWD"
cd "$PWD"
mount --bind state state
mount --bind outputs outputs
mount --bind log log
mount -t tmpfs tmpfs /tmp/.X11-unix 2>/dev/null || true
mount -o remount,bind,ro / || exit 77
mount -o remount,bind,ro "$PWD" || exit 77
mount -t proc -o subset=pid proc /proc || exit 77
if touch written 2>/dev/null; then exit 77; fi
exec "$@"
"""
DENY = """
import ctypes, os, sys
prctl = ctypes.CDLL(None).prctl
if prctl(65, 1, 0, 0, 0) or prctl(38, 1, 0, 0, 0):  # PR_SET_MDWE, PR_SET_NO_NEW_PRIVS
    sys.exit(77)
os.execv(sys.argv[1], sys.argv[1:])
"""


def test_a_run_needs_no_more_than_the_service_leaves_it(place):
    """Executed, with an environment that has nothing else; elsewhere here it is forked."""
    for name in ("state", "outputs", "log"):
        (place / name).mkdir(mode=0o700)
    unshare = shutil.which("unshare")
    if unshare is None:
        pytest.skip("needs unshare")
    command = [unshare, "--net", "--mount", "--pid", "--fork", "/bin/sh", "-c", CLOSED, "sh"]
    command += [sys.executable, "-c", DENY, *exec_start(place)]
    environment = environment_of_the_service(place) | {"PYTHONDONTWRITEBYTECODE": "1"}
    environment["MPLCONFIGDIR"] = str(place / "outputs" / ".matplotlib")
    ran = subprocess.run(
        command, env=environment, cwd=place, capture_output=True, text=True, check=False
    )
    if ran.returncode == 77 or "unshare" in ran.stderr:
        pytest.skip("needs the right to close a process off")
    assert ran.returncode == 0, ran.stderr
    require_published(place)


def cron_line():
    """The five times, the user and the command of the one line of the table."""
    lines = [each for each in (DEPLOY / "crontab").read_text().splitlines() if each[0] != "#"]
    to, line = lines
    assert to == "MAILTO=root"
    *times, user, command = line.split(maxsplit=6)
    return times, user, command


def test_the_cron_line_runs_with_an_empty_environment(place):
    times, user, command = cron_line()
    limits = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 7))
    for text, (low, high) in zip(times, limits, strict=True):
        assert text == "*" or low <= int(text) <= high
    assert user == "synth"
    assert "%" not in command, "cron takes a bare % for the end of the line"
    write_program(place / "synth")
    given = {"env": BARE, "cwd": "/", "capture_output": True, "text": True}
    ran = subprocess.run(["/bin/sh", "-c", here(command, place)], check=False, **given)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", ""), "cron mails nothing"
    require_published(place)
    (place / "sales.yaml").write_text("schema_version: 2\n")
    ran = subprocess.run(["/bin/sh", "-c", here(command, place)], check=False, **given)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "sales.yaml" in ran.stderr, "cron mails what went wrong"


def instructions():
    """The instructions of the Containerfile, in order, without comments."""
    text = re.sub(r"^#.*\n", "", (DEPLOY / "Containerfile").read_text(), flags=re.MULTILINE)
    text = text.replace("\\\n", " ")
    return [tuple(line.split(maxsplit=1)) for line in text.splitlines() if line.strip()]


def test_the_containerfile_is_well_formed_and_drops_every_right():
    found = instructions()
    known = ["FROM", "WORKDIR", "COPY", "RUN", "ENV", "USER", "STOPSIGNAL", "ENTRYPOINT", "CMD"]
    assert {name for name, _ in found} == set(known)
    assert found[0] == ("FROM", "docker.io/library/python:3.11-slim AS build")
    values = {name: value for name, value in found}  # noqa: C416 - the last one counts
    assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", values["USER"]), "a number, so that no name is missed"
    assert json.loads(values["ENTRYPOINT"]) == ["/opt/synth/bin/synth"]
    assert json.loads(values["CMD"]) == ["--help"]
    assert values["STOPSIGNAL"] == "SIGTERM"
    names = [name for name, _ in found]
    assert names.index("USER") > max(i for i, name in enumerate(names) if name in ("RUN", "COPY"))
    for name, value in found:
        if name == "COPY" and not value.startswith("--from=build "):
            *sources, _ = value.split()
            assert all((ROOT / source).exists() for source in sources), value
        if name == "RUN":
            parsed = subprocess.run(["/bin/sh", "-n", "-c", value], check=False)
            assert parsed.returncode == 0


def test_what_the_containerfile_copies_is_enough_to_install_and_start(tmp_path):
    """RUN and ENTRYPOINT by hand: built from the copied files alone, without an index."""
    pytest.importorskip("hatchling")
    build, target = tmp_path / "build", tmp_path / "installed"
    build.mkdir()
    for name, value in instructions():
        if name == "COPY" and not value.startswith("--from=build "):
            *sources, to = value.split()
            for source in sources:
                copied = build / to if to != "./" else build / source
                copy = shutil.copytree if (ROOT / source).is_dir() else shutil.copy
                copy(ROOT / source, copied)
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"]
    install += ["--no-build-isolation", "--no-index", "--target", str(target), "."]
    subprocess.run(install, cwd=build, check=True, capture_output=True)
    entry = target / "bin" / "synth"
    environment = BARE | {"PYTHONPATH": str(target)}
    command = [sys.executable, str(entry), *json.loads(dict(instructions())["CMD"])]
    shown = subprocess.run(
        command, env=environment, cwd="/", capture_output=True, text=True, check=False
    )
    assert shown.returncode == 0, shown.stderr
    assert "approve" in shown.stdout


def test_the_policy_of_the_example_is_accepted():
    policy = load_policy(DEPLOY / "policy.yaml")
    assert policy.approvals.required == 2
    assert policy.signing.required
    assert os.fspath(policy.populations["customers"].ledger) == "/var/lib/synth/ledger.sqlite"


def test_the_container_reads_every_kind_of_source_but_spark():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    installed = [value for name, value in instructions() if name == "RUN" and "pip" in value]
    found = re.search(r"constraints.txt '\.\[([a-z,]+)\]'", installed[0])[1]
    assert set(found.split(",")) == {"files", "postgres"} <= set(extras["optional-dependencies"])


def test_every_command_of_the_files_is_one_with_these_options():
    """Whatever `synth` is told to do there, it knows; also what no test carries out."""
    known = {command.__name__: inspect.signature(command).parameters for command in COMMANDS}
    told = [
        found
        for path in DEPLOY.iterdir()
        for found in re.findall(
            r"(?m)(?:bin/synth|# +synth|`synth) ([a-z]+)(.*)$", path.read_text()
        )
    ]
    assert {"due", "status"} <= {name for name, _ in told}
    for name, rest in told:
        options = re.findall(r" --([a-z-]+)", rest.partition(";")[0])
        assert {option.replace("-", "_") for option in options} <= set(known[name]), rest


def test_the_run_command_of_the_container_gives_no_network_and_no_rights():
    text = (DEPLOY / "Containerfile").read_text()
    assert re.search(r"^# +synth due /etc/synth/sales.yaml --log-json$", text, re.MULTILINE)
    for option in (
        "--network=none",
        "--read-only",
        "--cap-drop=all",
        "no-new-privileges",
        "core=0:0",
    ):
        assert option in text


def told_to_install(text: str) -> list[str]:
    """What a text tells people to install from a package index by the name of this program."""
    asked = re.findall(r"pip install[^\n&<]*", text)
    return [word for line in asked for word in re.findall(r"(?<![\w./-])synth[\w-]*", line)]


def test_installing_names_the_distribution_and_no_strangers_package():
    assert told_to_install("pip install 'synth[spark]' and pip install synth") == ["synth"] * 2
    kinds = (".md", ".py", ".jinja", "Containerfile")
    told = [
        name
        for place in (ROOT / "README.md", ROOT / "CHANGELOG.md", ROOT / "docs", ROOT / "synth")
        for path in ([place] if place.is_file() else place.rglob("*"))
        if path.name.endswith(kinds)
        for name in told_to_install(path.read_text())
    ]
    assert len(told) >= 4
    assert set(told) == {DISTRIBUTION}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["name"] == DISTRIBUTION
