"""`docs/deploy/`: the files are read as their programs read them, and their commands are run."""

import configparser
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from datetime import date, timedelta
from pathlib import Path

import pytest

from synth.errors import DISTRIBUTION
from synth.policy import load_policy
from tests.command_line import write_program

DEPLOY = Path(__file__).parents[2] / "docs" / "deploy"
ROOT = DEPLOY.parents[1]
SERVICE, TIMER = DEPLOY / "synth@.service", DEPLOY / "synth@.timer"
PERIOD = (date.today().replace(day=1) - timedelta(days=1)).strftime("%Y-%m")
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
    """A place like the one that the files describe: a configuration of a month, and a policy."""
    path = project(
        release={"id": "small-{period}"},
        source={"path": "people-{period}.csv"},
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
        ("/var/log/synth/", f"{place}/"),
    ):
        command = command.replace(there, str(local))
    return command


def require_published(place, log):
    stages = [json.loads(line)["stage"] for line in log.splitlines()]
    assert stages[-1] == "published", log
    assert (place / "outputs" / f"small-{PERIOD}" / "manifest.json").exists()


def exec_start(place):
    """The words of ExecStart, as systemd would pass them for the instance `sales`."""
    line = Unit(SERVICE).of("ExecStart").replace("%i", "sales").replace("%%", "%")
    assert "%i" not in line
    return [here(word, place) for word in shlex.split(line)]


def environment_of_the_service(place):
    found = {}
    for line in Unit(SERVICE).repeated["Service", "Environment"]:
        found |= dict(word.split("=", 1) for word in shlex.split(line))
    return {name: here(value, place) for name, value in found.items()}


def test_the_command_of_the_service_publishes_the_last_month(place):
    """Forked; the command is executed where it is closed off."""
    write_program(place / "synth")
    environment = environment_of_the_service(place)
    command = exec_start(place)
    assert "--log-json" in command[-1]
    ran = subprocess.run(
        command, env=environment, cwd=place, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    require_published(place, ran.stderr)
    policy = place / "policy.yaml"
    policy.write_text(policy.read_text().replace("epsilon: 1\n", "epsilon: 1/2\n"))
    again = subprocess.run(command, env=environment, cwd=place, capture_output=True, check=False)
    assert again.returncode == 4, "the environment of the service names the policy"


@pytest.mark.parametrize("source", ["service", "crontab"])
def test_the_period_is_the_last_month_on_every_day_of_five_years(source):
    if source == "service":
        text = Unit(SERVICE).of("ExecStart").replace("%%", "%")
    else:
        text = cron_line()[2].replace(r"\%", "%")
    expression = re.search(r'--period "(\$\(.*?-1 month" \+%Y-%m\))"', text)[1]
    inner = "$(date --utc +%Y-%m-15)"
    assert inner in expression
    months = [(year, month) for year in range(2024, 2029) for month in range(1, 13)]
    days = [date(y, m, 1) + timedelta(days=d) for y, m in months for d in (0, 1, 14, 27)]
    days += [date(y, m, 1) - timedelta(days=1) for y, m in months]  # the last, the 31st included
    script = "".join(
        f"echo {expression.replace(inner, f'$(date --utc --date={day} +%Y-%m-15)')}\n"
        for day in days
    )
    shown = subprocess.run(["/bin/sh", "-c", script], capture_output=True, text=True, check=True)
    expected = [(day.replace(day=1) - timedelta(days=1)).strftime("%Y-%m") for day in days]
    assert shown.stdout.split() == expected


def test_systemd_finds_nothing_wrong_and_little_exposed(tmp_path):
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("needs systemd-analyze")
    for path in (SERVICE, TIMER):
        shutil.copy(path, tmp_path)
    units = [tmp_path / SERVICE.name, tmp_path / TIMER.name]
    checked = subprocess.run(
        [analyze, "verify", *units], capture_output=True, text=True, check=False
    )
    assert (checked.returncode, checked.stderr) == (0, "")
    command = [analyze, "security", "--offline=true", "--threshold=10", units[0]]
    assert subprocess.run(command, capture_output=True, check=False).returncode == 0, "at most 1.0"
    calendar = Unit(TIMER).of("OnCalendar", "Timer")
    shown = subprocess.run(
        [analyze, "calendar", calendar], capture_output=True, text=True, check=False
    )
    assert shown.returncode == 0, shown.stderr


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
    assert service.of("StateDirectory") == "synth"
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
    for name in ("state", "outputs"):
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
    require_published(place, ran.stderr)


def cron_line():
    """The five times, the user and the command of the one line of the table."""
    (line,) = [each for each in (DEPLOY / "crontab").read_text().splitlines() if each[0] != "#"]
    *times, user, command = line.split(maxsplit=6)
    return times, user, command


def test_the_cron_line_runs_with_an_empty_environment(place):
    times, user, command = cron_line()
    limits = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 7))
    for text, (low, high) in zip(times, limits, strict=True):
        assert text == "*" or low <= int(text) <= high
    assert user == "synth"
    assert not re.search(r"(?<!\\)%", command), "cron takes a bare % for the end of the line"
    ran = subprocess.run(
        ["/bin/sh", "-c", here(command.replace(r"\%", "%"), place)],
        env=BARE,
        cwd="/",
        capture_output=True,
        text=True,
        check=False,
    )
    log = place / "sales.jsonl"
    assert ran.returncode == 0, log.read_text()
    assert ran.stderr == ""
    require_published(place, log.read_text())
    assert log.stat().st_mode & 0o077 == 0


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


def test_the_run_command_of_the_container_gives_no_network_and_no_rights():
    text = (DEPLOY / "Containerfile").read_text()
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
    asked = re.findall(r"pip install[^\n&]*", text)
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
