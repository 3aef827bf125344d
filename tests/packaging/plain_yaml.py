"""The part of YAML in which the CI examples are written, and no more: what it does not know is an error, not a guess.

Mappings and lists in blocks, `[a, b]`, text that begins with `|`, words with or without quotes; every word is a str.
"""
import re

KEY = re.compile(r"([\w./-]+):(?: (.*))?$")


class Unknown(ValueError):
    """A line that is no part of this YAML."""


def load(text):
    lines = [(number, line) for number, line in enumerate(text.splitlines(), 1)]
    value, rest = _block(lines, 0)
    if _next(rest):
        raise Unknown(f"line {rest[0][0]}: {rest[0][1]}")
    return value


def _next(lines):
    """The first line that says something, with those before it taken away."""
    while lines and (not lines[0][1].strip() or lines[0][1].lstrip().startswith("#")):
        lines.pop(0)
    return lines


def _indent(line):
    return len(line) - len(line.lstrip(" "))


def _word(text):
    if text.startswith("["):
        if not text.endswith("]"):
            raise Unknown(text)
        return [_word(each.strip()) for each in text[1:-1].split(",")]
    if text[:1] in ("'", '"'):
        if len(text) < 2 or text[-1] != text[0] or text[0] in text[1:-1] or "\\" in text:
            raise Unknown(text)
        return text[1:-1]
    if text[:1] in "&*!{>%@`|]},?-" and not re.match(r"-\w|--", text) or ": " in text or text.endswith(":"):
        raise Unknown(text)
    return text


def _without_comment(text):
    return text if text[:1] in ("'", '"') and text[-1:] == text[:1] else re.sub(r"\s+#.*", "", text).strip()


def _text(lines, indent):
    """What `|` begins: the lines that are further in than `indent`, or empty."""
    taken = []
    while lines and (not lines[0][1].strip() or _indent(lines[0][1]) > indent):
        taken.append(lines.pop(0)[1])
    while taken and not taken[-1].strip():
        taken.pop()
    own = min(_indent(line) for line in taken if line.strip())
    return "".join(f"{line[own:].rstrip()}\n" for line in taken), lines


def _value(text, lines, indent):
    text = _without_comment(text or "")
    if text == "|":
        return _text(lines, indent)
    if text:
        return _word(text), lines
    lines = _next(lines)
    deeper = lines and (_indent(lines[0][1]) > indent or _indent(lines[0][1]) == indent and lines[0][1].lstrip().startswith("- "))
    return _block(lines, _indent(lines[0][1])) if deeper else ("", lines)


def _list(lines, indent):
    found = []
    while _next(lines) and _indent(lines[0][1]) == indent and lines[0][1].lstrip().startswith("- "):
        number, line = lines.pop(0)
        item = line[indent + 2:]
        if KEY.match(item):
            value, lines = _mapping([(number, " " * (indent + 2) + item)] + lines, indent + 2)
        else:
            value, lines = _value(item, lines, indent)
        found.append(value)
    return found, lines


def _mapping(lines, indent):
    found = {}
    while _next(lines) and _indent(lines[0][1]) == indent:
        number, line = lines.pop(0)
        match = KEY.match(line.strip())
        if not match or match[1] in found:
            raise Unknown(f"line {number}: {line}")
        found[match[1]], lines = _value(match[2], lines, indent)
    return found, lines


def _block(lines, indent):
    return (_list if _next(lines)[0][1].lstrip().startswith("- ") else _mapping)(lines, indent)
