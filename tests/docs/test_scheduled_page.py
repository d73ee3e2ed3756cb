"""The page on unattended runs: its lines for an administrator fit the units that they install.

They need root and a running systemd, so each is read as its program reads it.
"""

import re
import shlex
import subprocess

from tests.docs.carried_out import ROOT
from tests.docs.test_deployment import SERVICE, TIMER, UNITS, Unit, cron_line
from tests.docs.test_signing_page import SCHEDULED

(LINES,) = re.findall(r"(?:^    \w.*\n)+(?=\nA failure starts)", SCHEDULED, re.MULTILINE)
COMMANDS = {words[0]: words for words in map(shlex.split, LINES.replace("&&", "\n").splitlines())}


def test_a_shell_reads_the_lines_of_the_page():
    assert len(LINES.splitlines()) == 4
    subprocess.run(["bash", "-n"], input=LINES, text=True, check=True)
    programs = ["useradd", "python3", "/opt/synth/bin/pip", "install", "systemctl"]
    assert list(COMMANDS) == programs


def test_the_user_and_the_directories_are_those_of_the_service():
    service = Unit(SERVICE)
    *options, user = COMMANDS["useradd"][1:]
    assert user == service.of("User") == service.of("Group") == cron_line()[1]
    given = dict(zip(options[1::2], options[2::2], strict=True))
    assert options[0] == "--system"
    assert given == {"--home-dir": service.of("WorkingDirectory"), "--shell": "/usr/sbin/nologin"}
    assert service.of("WorkingDirectory") == f"/var/lib/{service.of('StateDirectory')}"
    assert f"(`{service.of('WorkingDirectory')}`)" in SCHEDULED
    *_, environment = COMMANDS["python3"]
    assert COMMANDS["python3"][1:3] == ["-m", "venv"]
    program = re.search(r"^(\S+) due ", service.of("ExecStart"))[1]
    assert program == f"{environment}/bin/synth"
    assert COMMANDS["/opt/synth/bin/pip"] == [
        f"{environment}/bin/pip",
        "install",
        ".[files,postgres]",
    ]


def test_the_units_are_installed_where_the_timer_starts_them():
    _, option, mode, *files, place = COMMANDS["install"]
    assert (option, mode) == ("-m", "644")
    assert [ROOT / file for file in files] == list(UNITS)
    assert all(path.is_file() for path in UNITS)
    assert f"under {place}" in SERVICE.read_text()
    assert COMMANDS["systemctl"] == ["systemctl", "enable", "--now", "synth@sales.timer"]
    template, instance = re.fullmatch(r"(\w+@)(\w+)(\.timer)", "synth@sales.timer").group(1, 2)
    assert TIMER.name == f"{template}.timer"
    assert Unit(TIMER).of("WantedBy", "Install"), "can be enabled"
    first = re.search(r"^    (synth due .*)$", SCHEDULED, re.MULTILINE)[1]
    configured = Unit(SERVICE).of("ExecStart").replace("%i", instance)
    assert configured == f"/opt/synth/bin/{first}"
