"""Splits text into sentences, in scripts with and without spaces."""

import re
from collections.abc import Iterator

LONGEST = 400
"""Characters after which a sentence is divided: a longer one is hardly one statement."""

_FENCE = re.compile(r"^[ \t]*(```+|~~~+)")
_BULLET = re.compile(r"^\s*(?:[-*•+]|\d{1,3}[.)])\s+")
_SPACE = re.compile(r"\s+")
_CLOSERS = "\"'”’»)]*_"
_END = re.compile(
    r"(?:[.!?…]+[" + re.escape(_CLOSERS) + r"]*(?=\s)"
    r"|[。！？｡．]+[」』”’）】》]*"
    r"|[।॥؟۔።။၊។៕]+[" + re.escape(_CLOSERS) + r"]*)\s*"
)
_ABBREVIATION = re.compile(
    r"(?:^|[\s(\"'])(?:mr|mrs|ms|dr|prof|st|jr|sr|vs|etc|no|nr|fig|vol|approx|dept|est|inc|ltd|co"
    r"|e\.g|i\.e|a\.m|p\.m|u\.s|u\.k|ph\.d|cf|al|z\.b|d\.h|bzw|т\.е|т\.д|г|ул|им"
    r"|[a-z]|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)\.$",
    re.IGNORECASE,
)
_ALWAYS_INNER = re.compile(
    r"(?:^|[\s(\"'])(?:mr|mrs|ms|dr|prof|st|vs|e\.g|i\.e|cf|fig|vol|approx)\.$", re.IGNORECASE
)
_THAI_GAP = re.compile(r"(?<=[\u0e00-\u0e7f]) +(?=[\u0e00-\u0e7f])")
_SOFT = re.compile(r"[,;:，；：、،؛](?=\s|[^\x00-\x7f])\s*|\s+[–—-]\s+")
THAI_PHRASE = 45
"""Characters a Thai phrase has at least; Thai ends sentences with a space, and phrases too."""


def sentences(text: str) -> Iterator[str]:
    """Yields the sentences of a text in order, white space collapsed.

    A fenced block of code comes out whole, with its line breaks; a line of a list is at least one
    sentence and keeps its text without the bullet. Nothing longer than `LONGEST` comes out but
    code.
    """
    for block, is_code in _blocks(text):
        if is_code:
            yield block
            continue
        for line in block.split("\n"):
            for sentence in _of_line(_BULLET.sub("", line)):
                yield from _short_enough(sentence)


def _blocks(text: str) -> Iterator[tuple[str, bool]]:
    """Parts the text into prose and fenced code; a fence which stays open is prose."""
    prose: list[str] = []
    code: list[str] = []
    fence = ""
    for line in text.splitlines():
        if fence:
            code.append(line.rstrip())
            if line.strip().startswith(fence) and not line.strip().strip(fence[0]):
                yield "\n".join(prose), False
                yield "\n".join(code), True
                prose, code, fence = [], [], ""
            continue
        opened = _FENCE.match(line)
        if opened:
            fence = opened.group(1)
            code = [line.strip()]
        else:
            prose.append(line)
    yield "\n".join(prose + code), False


def _of_line(line: str) -> Iterator[str]:
    line = _SPACE.sub(" ", line).strip()
    start = 0
    for match in _END.finditer(line):
        if _is_inner(line, start, match):
            continue
        yield from _thai_phrases(line[start : match.end()].strip())
        start = match.end()
    if start < len(line):
        yield from _thai_phrases(line[start:])


def _is_inner(line: str, start: int, match: re.Match[str]) -> bool:
    """Whether this full stop belongs to an abbreviation rather than to an end."""
    if line[match.start()] != ".":
        return False
    before = line[max(start, match.start() - 12) : match.start() + 1]
    if _ALWAYS_INNER.search(before):
        return True
    following = line[match.end() : match.end() + 1]
    if following.islower():
        return True
    return bool(_ABBREVIATION.search(before)) and not following.isupper()


def _thai_phrases(sentence: str) -> Iterator[str]:
    start = 0
    for gap in _THAI_GAP.finditer(sentence):
        if gap.start() - start >= THAI_PHRASE:
            yield sentence[start : gap.start()]
            start = gap.end()
    if start < len(sentence):
        yield sentence[start:]


def _short_enough(sentence: str) -> Iterator[str]:
    while len(sentence) > LONGEST:
        cut = 0
        for soft in _SOFT.finditer(sentence, LONGEST // 4, LONGEST):
            cut = soft.end()
        if not cut:
            cut = sentence.rfind(" ", LONGEST // 4, LONGEST) + 1 or LONGEST
        yield sentence[:cut].strip()
        sentence = sentence[cut:].strip()
    if sentence:
        yield sentence
