"""Low signal: acknowledgements, and runs of debug output."""

import re

from perdure.memory.blocks import Block

# Fewer lines of debug output in a row are not worth a stub.
FEWEST_LINES = 5
# An acknowledgement is short; what is longer says something.
LONGEST = 120
_PHRASES = (
    "ok|okay|k|thanks|thank you|thank you so much|thanks a lot|many thanks|thx|ty|great|perfect"
    "|nice|cool|awesome|got it|noted|understood|i see|sounds good|good|very good|excellent|alright"
    "|all right|sure|you're welcome|you are welcome|no problem|my pleasure|glad to help"
    "|happy to help|anytime|danke|vielen dank|danke schön|gern|gerne|verstanden|alles klar|super"
    "|bitte|merci|merci beaucoup|d'accord|parfait|compris|de rien|gracias|muchas gracias|vale"
    "|perfecto|entendido|de nada|obrigado|obrigada|grazie|va bene|perfetto|prego|спасибо|хорошо"
    "|понятно|отлично|пожалуйста|好|好的|谢谢|多谢|明白|明白了|收到|不客气|ありがとう"
    "|ありがとうございます|了解|了解です|わかりました|감사합니다|네|알겠습니다|धन्यवाद|ठीक है"
    "|شكرا|حسنا|ขอบคุณ|ขอบคุณครับ|ขอบคุณค่ะ"
)
_KNOWN = dict.fromkeys(_PHRASES.split("|"))
# Everything but letters, digits and what joins them ends a phrase.
_ENDS = re.compile(r"[^\w'\s\u0300-\u036f\u0900-\u097f\u0e00-\u0e7f]+|\n")
_DEBUG = re.compile(
    r"\s*(?:\S+\s+){0,4}?[\[(<]?(?:DEBUG|TRACE|VERBOSE|FINEST|FINER)\b"
    r"|.*\d{1,3}\s?%\s?[|\[(][=#>.█▏▎▍▌▋▊▉\s-]{5,}"
    r"|\s*[=#>.█-]{20,}\s*$"
)


def is_acknowledgement(content: list[Block]) -> bool:
    """Whether a message says nothing but that another was heard."""
    if not content or any(set(b) != {"type", "text"} or b["type"] != "text" for b in content):
        return False
    text = "\n".join(str(b["text"]) for b in content).replace("’", "'")
    if len(text) > LONGEST:
        return False
    phrases = [p for p in (" ".join(part.split()) for part in _ENDS.split(text.lower())) if p]
    return bool(phrases) and all(p in _KNOWN for p in phrases)


def asks(text: str) -> bool:
    """Whether there is a question in it, so that even "ok" is an answer."""
    return any(mark in text for mark in "?？؟")


def without_debug(text: str, seq: int) -> str | None:
    """The text with its runs of debug lines told in a line each; None if it has none."""
    lines = text.split("\n")
    if len(lines) < FEWEST_LINES:
        return None
    kept: list[str] = []
    start = None
    found = False
    for number, line in enumerate([*lines, ""]):
        if number < len(lines) and _DEBUG.match(line):
            start = number if start is None else start
            continue
        if start is not None:
            run = lines[start:number]
            if len(run) >= FEWEST_LINES:
                found = True
                run = [f"[{len(run)} lines of debug output left out; the record has message {seq}]"]
            kept += run
            start = None
        if number < len(lines):
            kept.append(line)
    return "\n".join(kept) if found else None
