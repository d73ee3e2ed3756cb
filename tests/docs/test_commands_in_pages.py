"""Command lines that the pages quote and do not carry out are accepted by what they name."""

import json
import re
import shlex

import pytest
import typer

from synth.cli import app
from tests.command_line import synth
from tests.docs.carried_out import ROOT
from tests.docs.test_signing_page import DOCS

PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]

# Parses one command line after the other with the parser of the script that it names, which
# goes no further.
PARSE = """
import argparse, json, runpy, sys
sys.dont_write_bytecode = True
root, commands = json.loads(sys.argv[1])
parse = argparse.ArgumentParser.parse_args
class Accepted(BaseException): pass
def only_parse(self, *given, **named):
    parse(self, *given, **named)
    raise Accepted
argparse.ArgumentParser.parse_args = only_parse
for command in commands:
    module = command[0] == "-m"
    script, words = (command[1], command[2:]) if module else (command[0], command[1:])
    sys.argv = [script, *words]
    sys.path.insert(0, root if module else f"{root}/{script.rpartition('/')[0]}")
    try:
        if module:
            runpy.run_module(script, run_name="__main__")
        else:
            runpy.run_path(f"{root}/{script}", run_name="__main__")
    except Accepted:
        continue
    except SystemExit as refused:
        print(refused.code, *command)
    else:
        print("not parsed:", *command)
    finally:
        del sys.path[0]
sys.exit()
"""


def quoted(page):
    """What the page shows as code: lines of blocks, and code within sentences."""
    text = re.sub(r"\\\n\s*", " ", page.read_text(encoding="utf-8"))
    lines = re.findall(r"^ {4}(\S.*)$", text, re.MULTILINE)
    blocks = re.findall(r"^```(?:sh|text)?\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    lines += [line for block in blocks for line in block.splitlines()]
    sentences = re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)
    for _, code in re.findall(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", sentences, re.DOTALL):
        lines.append(" ".join(code.split()))
    return lines


def words_of(line):
    """A command line up to its comment or to where the shell goes on."""
    return shlex.split(re.split(r" #| \||&&| >|;|\"?\$\(", line)[0])


def lines_of_benchmarks():
    found = []
    for page in PAGES:
        for line in quoted(page):
            command = re.fullmatch(r"(?:[A-Z]+=\S+ )?(python )?((?:-m )?benchmarks[/.]\w.*)", line)
            if command and (command[1] or " " in command[2]):
                words = [re.sub(r"^(ROWS|N)$", "1e4", word) for word in words_of(command[2])]
                found.append((page.name, words))
    return found


def test_every_benchmark_accepts_the_command_lines_of_the_pages():
    found = lines_of_benchmarks()
    assert len({words[words[0] == "-m"] for _, words in found}) >= 14, "scripts"
    assert len(found) >= 35
    for _, words in found:
        if words[0] != "-m":
            assert (ROOT / words[0]).is_file(), words
    done = synth(json.dumps([str(ROOT), [words for _, words in found]]), cwd=ROOT, program=PARSE)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


COMMANDS = typer.main.get_command(app).commands


def lines_of_synth():
    """Every quoted command, and its words."""
    for page in PAGES:
        for line in quoted(page):
            found = re.search(r"(?:^|/bin/|exec )synth ([a-z]\w*)(?: (?=\S)|$)(.*)", line)
            if found and not re.fullmatch(r"\d+", found[2]):  # `synth manifest 1`: of a file
                yield page.name, found[1], found[2]


def test_every_command_of_synth_in_the_pages_is_one_with_these_options():
    count = 0
    for page, name, rest in lines_of_synth():
        assert name in COMMANDS, (page, name, rest)
        command = COMMANDS[name]
        options = {option for parameter in command.params for option in parameter.opts}
        for word in words_of(rest):
            if re.match(r"--?[a-z]", word):
                assert word.split("=")[0] in options, (page, name, word)
                count += 1
    assert count >= 25


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("plan a.yaml --plot b.png   # the same", ["plan", "a.yaml", "--plot", "b.png"]),
        ('run a.yaml --period "$(date)"', ["run", "a.yaml", "--period"]),
        ("errors R --query 'a in [1, 2)' | head", ["errors", "R", "--query", "a in [1, 2)"]),
    ],
)
def test_a_line_is_read_as_the_shell_does(line, words):
    assert words_of(line) == words
