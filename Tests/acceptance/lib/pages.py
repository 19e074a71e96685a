"""Runs the examples of documentation exactly as written."""

import os
import re

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))


def page_examples(check, scratch, page):
    """The examples of a page, in order: what follows `$` is typed, and the rest is the expected
    output.

    A block of YAML that begins with a comment is a file of that name.
    """
    with open(os.path.join(ROOT, page), encoding="utf-8") as file:
        text = file.read()
    for name, content in re.findall(r"```yaml\n# (\S+)\n(.*?)```", text, re.S):
        with open(os.path.join(scratch.folder, name), "w", encoding="utf-8") as file:
            file.write(content)
    count = 0
    for block in re.findall(r"```console\n(.*?)```", text, re.S):
        for step in re.split(r"^\$ ", block, flags=re.M)[1:]:
            command, _, said = step.partition("\n")
            result = scratch.shell(command)
            got = (result.stdout + result.stderr).rstrip()
            check.that(f"{page}: {command}", got == said.rstrip(), got)
            count += 1
    check.that(f"{page} has examples", count >= 10, count)
