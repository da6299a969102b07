"""Exact values in a text, known by their general shape and not by a list of formats."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from perdure.memory.facts.fact import Kind

_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
_DAYNAME = r"(?:(?:mon|tues|wednes|thurs|fri|satur|sun)days?)"
_URL = re.compile(r"\b(?:[a-z][a-z0-9+.-]{1,15}://|www\.)[^\s<>\"'`]+[^\s<>\"'`.,;:!?)\]}]", re.I)
_MAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_PATH = re.compile(
    r"(?<![\w/])(?:~|\.{1,2}|[A-Za-z]:)?(?:[/\\][\w.@+-]+){2,}/?"
    r"|(?<![\w/])[\w.-]+(?:/[\w.-]+)+\.\w{1,5}\b"
    r"|(?<![\w./])[\w-]*[a-z_-][\w-]+\.(?!com\b|org\b|net\b)[a-z]{1,4}\d?\b(?=[\s,;:!?)\]'\"`]"
    r"|\.\s|\.?$)"
)
_CODE = re.compile(r"`([^`\n]{3,120})`")
_CURRENCY = (
    r"(?:euros?|eur|dollars?|usd|bucks|pounds?(?: sterling)?|gbp|francs?|chf|yen|jpy|yuan|rmb"
    r"|rupees?"
    r"|cents?|pence|crowns?|kronor?|kroner|zł|руб\w*)"
)
_MONEY = re.compile(
    r"[$€£¥₹₽]\s?\d[\d.,' ]*\d?(?:\s?(?:k|m|bn|million|thousand)\b)?"
    rf"|\b\d[\d.,']*(?:\s?(?:k|m|million|thousand|hundred))?\s?(?:[$€£¥₹₽元円]|{_CURRENCY}\b)",
    re.I,
)
_DATE = re.compile(
    r"\b\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2})?(?:Z|[+-]\d{2}:?\d{2})?)?"
    r"|\b\d{1,2}[./]\d{1,2}[./](?:\d{4}|\d{2})\b"
    rf"|\b{_MONTH}\.? \d{{1,2}}(?:st|nd|rd|th)?\b(?:,? \d{{4}})?"
    rf"|\b\d{{1,2}}(?:st|nd|rd|th)?(?: of)? {_MONTH}\b(?:,? \d{{4}})?"
    rf"|\b{_MONTH} \d{{4}}\b|\bthe \d{{1,2}}(?:st|nd|rd|th)\b"
    rf"|\b(?:next |last |this |every |on ){_DAYNAME}\b"
    r"|\b(?:[01]?\d|2[0-3]):[0-5]\d(?: ?[ap]\.?m\b\.?)?|\b(?:1[0-2]|[1-9]) ?[ap]\.?m\b"
    r"|\d{1,4}年(?:\d{1,2}月)?(?:\d{1,2}[日号])?|\d{1,2}月\d{1,2}[日号]",
    re.I,
)
_PHONE = re.compile(
    r"(?<![\w.,])(?:\+\d{1,3}[ .-]?)?(?:\(\d{1,5}\)[ .-]?)?\d{2,5}(?:[ .-]\d{2,5}){2,5}\b"
)
_GROUPED = re.compile(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?\b")
_COORDINATES = re.compile(
    r"-?\d{1,3}\.\d{3,}\s*°?\s*[NSEW]?,?\s+-?\d{1,3}\.\d{3,}(?:\s*°?\s*[NSEW]\b)?"
    r"|\d{1,3}°\s?\d{1,2}['′]\s?(?:\d{1,2}(?:\.\d+)?[\"″]\s?)?[NSEW]"
)
_TOKEN = re.compile(r"[#A-Za-z0-9](?:[\w#+@-]|[.:/!]+(?=\w))*")
_SERIES = re.compile(
    r"\b(?!(?:USD|EUR|GBP|CHF|JPY|AM|PM|AD|BC|MB|GB|KB|TB|KM|KG)\b)[A-Z]{2,5} \d{2,6}[A-Z]?\b"
)
_LABEL = re.compile(
    r"\b(?:num(?:ber|mer)|no|nr|code|id|ids|ref(?:erence)?|extension|ext|pin|serial|account|order"
    r"|ticket|invoice|case|policy|booking|confirmation|reservation|license|licence|plate|room|gate"
    r"|seat|locker|password|passcode|passphrase|key|token|badge|customer|member(?:ship)?|tracking"
    r"|isbn|issn|vin|imei|zip|postcode|card|flight|line|locator|hash|commit|version|build|callsign)"
    r"\.?(?:'s)?(?: (?:is|was|are|number|no|code|id|of|for))*[\s:#\"'“]*$"
    r"|(?:号码?|编号|代码|密码|番号|コード|номер|код|رقم|संख्या|หมายเลข|รหัส)\D{0,6}$",
    re.I,
)
# Numbers with a unit, ordinals, decades, clock times, multiples: numbers, not names of things.
_MEASURE = re.compile(
    r"\d+(?:[.,:x×/-]\d+)*(?:st|nd|rd|th|s|k|m|b|x|am|pm|h|hr|hrs|min|mins|sec|ms|kg|g|mg|lb|lbs"
    r"|oz|km"
    r"|cm|mm|mi|ft|in|l|ml|cl|gb|mb|kb|tb|hz|khz|mhz|ghz|w|kw|kwh|v|a|ah|mah|px|fps|dpi|c|f|d|p"
    r"|yo|ish"
    r"|bit|bits|day|days|week|weeks|month|months|year|years|hour|hours|minute|minutes)?"
    r"(?:-(?:year|month|week|day|hour|minute|inch|foot|point|page|part|star|litre"
    r"|mile)s?(?:-old)?)?",
    re.I,
)
_QUANTITY = re.compile(r"(?<![\w.,])\d(?:[\d.,]*\d)?(?:\s?[%‰°]|[a-zA-Z]{1,4}\b)?")
_SHORT_LABEL = re.compile(
    r"\b(?:number|no|extension|ext|room|gate|pin|code|flight)\.?(?: is)?[\s:#]*$", re.I
)
_YEAR = re.compile(r"(?:19|20)\d\d(?:s|/\d\d|[-–](?:19|20)?\d\d)?")


@dataclass(frozen=True, slots=True)
class Shaped:
    """A value found at `start` of a text."""

    kind: Kind
    text: str
    start: int


_PATTERNS = (
    (Kind.ADDRESS, _URL),
    (Kind.ADDRESS, _MAIL),
    (Kind.ADDRESS, _PATH),
    (Kind.IDENTIFIER, _GROUPED),
    (Kind.IDENTIFIER, _COORDINATES),
    (Kind.DATE, _DATE),
    (Kind.MONEY, _MONEY),
    (Kind.IDENTIFIER, _PHONE),
    (Kind.IDENTIFIER, _SERIES),
)


def shaped(text: str) -> list[Shaped]:
    """The values of a text in their order, none inside another.

    An identifier is whatever mixes letters and digits and is no measure, an all-digit or
    all-capital word behind a label such as "number", and grouped digits as in a phone number.
    """
    found: list[Shaped] = []
    free = list(text)
    for kind, pattern in _PATTERNS:
        for match in pattern.finditer("".join(free)):
            _take(found, free, kind, match.group().rstrip(" .,;:"), match.start())
    for match in _TOKEN.finditer("".join(free)):
        token = match.group().rstrip(".:/-+@")
        if is_identifier(token) or _is_labelled(text, match.start(), token):
            _take(found, free, Kind.IDENTIFIER, token, match.start())
    rest = "".join(free)
    for match in _CODE.finditer(rest):
        if " " in match.group(1).strip() and "\0" not in match.group(1):
            _take(found, free, Kind.ADDRESS, match.group(1), match.start(1))
    for match in _QUANTITY.finditer("".join(free)):
        _take(found, free, Kind.QUANTITY, match.group(), match.start())
    return sorted(found, key=lambda value: value.start)


def is_identifier(token: str) -> bool:
    """Whether a word names one thing by its shape alone: letters with digits, or "a_b_12"."""
    if len(token) < 3 or not any(c.isdigit() for c in token):
        return False
    if any(c.isalpha() for c in token):
        return not _MEASURE.fullmatch(token) and not _YEAR.fullmatch(token)
    if token.count(".") >= 2 or (token.startswith("#") and len(token) > 2):
        return True
    digits = sum(c.isdigit() for c in token)
    return (
        digits >= 6 and all(c.isdigit() or c in "-/_" for c in token) and not _YEAR.fullmatch(token)
    )


def _is_labelled(text: str, start: int, token: str) -> bool:
    if len(token) < 3 or not (token.isdigit() or (token.isupper() and len(token) >= 4)):
        return False
    before = text[max(0, start - 40) : start]
    return bool((_LABEL if len(token) > 3 else _SHORT_LABEL).search(before))


def _take(found: list[Shaped], free: list[str], kind: Kind, value: str, start: int) -> None:
    if value.strip():
        found.append(Shaped(kind, value, start))
        free[start : start + len(value)] = "\0" * len(value)


def identifiers(text: str) -> Iterator[str]:
    """The identifiers and addresses of a text."""
    for value in shaped(text):
        if value.kind in (Kind.IDENTIFIER, Kind.ADDRESS):
            yield value.text
