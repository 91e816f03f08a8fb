#!/usr/bin/env python3
# Copyright (c) 2026 the weir authors
# SPDX-License-Identifier: MIT
"""A page for each command, man/weir-COMMAND.1, out of what man/weir.1 and the command's source say of it.

    man_pages.py           writes them
    man_pages.py --check   fails if one is not what it would write

A command that has a page of its own (weir-serve.1) keeps it.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
MADE = '.\\" Made by tools/man_pages.py of weir.1.'


def part(text, name):
    """What stands below a .Sh."""
    return re.search(rf"^\.Sh {name}\n(.*?)(?=^\.Sh |\Z)", text, re.M | re.S).group(1)


def sections(text):
    """(command, text) of each .Ss of a command; what follows it below other titles is part of it."""
    found = []
    for title, body in re.findall(r"^\.Ss ([^\n]*)\n(.*?)(?=^\.Ss |\Z)", part(text, "DESCRIPTION"), re.M | re.S):
        names = [word.split()[1] for word in title.split(", ") if word.startswith("weir ")]
        if names:
            found.append([names, body])
        else:
            found[-1][1] += f".Ss {title}\n{body}"
    return [(name, body) for names, body in found for name in names]


def synopsis(text, name):
    lines = part(text, "SYNOPSIS").split(".Nm\n")
    return "".join(f".Nm weir\n{entry}" for entry in lines if re.match(rf"\.Cm {name}\b", entry))


def strings_of(name, member):
    """A member of the command's description in its source: C strings, one after the other."""
    for path in (ROOT / "src/cli").glob("*.c"):
        found = re.search(rf'\.name = "{name}",.*?\.{member} =((?:\s*"(?:[^"\\]|\\.)*")+)',
                          path.read_text(), re.S)
        if found:
            text = "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', found.group(1)))
            return text.replace("\\n", "\n").replace('\\"', '"').replace("\\\\", "\\")
    sys.exit(f"man_pages: {name} has no {member}")


def literal(text):
    """Lines as they are. A period or an apostrophe at the start would be a macro."""
    lines = text.replace("\\", "\\e").replace("-", "\\-").rstrip("\n").split("\n")
    return "\n".join(f"\\&{line}" if line[:1] in (".", "'") else line for line in lines)


def page(text, name, body):
    date = re.search(r"^\.Dd .*$", text, re.M).group(0)
    more = "".join(f".Xr {other} ,\n" for other in ("weir.conf 5",) if f".Xr {other}" in body or name in ("run", "config"))
    return f"""{MADE}
.\\" Copyright (c) 2026 the weir authors
.\\" SPDX-License-Identifier: MIT
{date}
.Dt WEIR-{name.upper()} 1
.Os
.Sh NAME
.Nm weir-{name}
.Nd {strings_of(name, "summary")}
.Sh SYNOPSIS
{synopsis(text, name)}.Sh DESCRIPTION
Options of all commands, variables of the environment and exit statuses are in
.Xr weir 1 .
.Pp
{body.removeprefix(".Pp" + chr(10))}.Sh EXAMPLES
.Bd -literal
{literal(strings_of(name, "examples"))}
.Ed
.Sh SEE ALSO
.Xr weir 1{" ," if more else ""}
{more.removesuffix(" ," + chr(10)) + chr(10) if more else ""}"""


def main():
    check = sys.argv[1:] == ["--check"]
    text = (ROOT / "man/weir.1").read_text()
    wrong = []
    for name, body in sections(text):
        path = ROOT / f"man/weir-{name}.1"
        before = path.read_text() if path.exists() else ""
        if before and not before.startswith(MADE):
            continue
        made = page(text, name, body)
        if check and made != before:
            wrong.append(path.name)
        elif not check:
            path.write_text(made)
    if wrong:
        sys.exit(f"man_pages: not what tools/man_pages.py writes: {', '.join(wrong)}")


if __name__ == "__main__":
    main()
