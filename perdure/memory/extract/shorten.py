"""Takes the empty words from a sentence without changing what it says."""

import re

_OPENER = re.compile(
    r"^(?:(?:oh|wow|whoa|ah|aw+|hey|hi|hello|yeah|yep|yup|yes|sure|thanks|thank you|thx|cool"
    r"|awesome"
    r"|nice|great|congrats|congratulations|omg|ha(?:ha)+|lol|absolutely|definitely|totally"
    r"|exactly|of course|well|ok|okay|hmm+|um+|uh+|man|you know|i mean|by the way|anyway"
    r"|for sure|that['’]s (?:great|awesome|amazing|cool|nice)|sounds (?:good|great))"
    r"(?: so much| a lot| again| there)?(?:,? (?-i:[A-Z][\w’']+)(?=[,!.]))?"
    r"\s*(?:[,!.…]+|[-–—]+)\s*)+"
    r"(?=\S)",
    re.IGNORECASE,
)
_JOINT = re.compile(r"^(?:so|and|but|also|plus)\b,?\s+(?=\S)", re.IGNORECASE)
_EMPHASIS = re.compile(
    r"(?<!not)(?<!n['’]t)(?<!so) \b(?:really|super|totally|definitely|absolutely|truly|actually"
    r"|literally|basically|honestly|very|quite)\b"
    r"(?! (?:that|much|many|far|long|as|is|was|are|were|i|we|you|he|she"
    r"|it|they|a|an|the|little|few)\b)(?= [a-z])",
)
_CAPTION = re.compile(
    r"(?<=\[image: )(?:an? )?(?:close[- ]up )?(?:photo(?:graphy|graph)?|picture|image) of ",
    re.IGNORECASE,
)
_QUOTED = re.compile(r"[\"“”«»`「『]")


def shorten(sentence: str) -> str:
    """A shorter wording of an English sentence; other languages and quotations stay as they are.

    Leaves out opening interjections and adverbs of mere emphasis. What negates ("not really") or
    stands in quotation marks is not touched, and a sentence is never emptied.
    """
    text = _CAPTION.sub("", sentence)
    shorter = _OPENER.sub("", text, count=1)
    shorter = _JOINT.sub("", shorter, count=1)
    if not _QUOTED.search(shorter):
        shorter = _EMPHASIS.sub("", shorter)
    if shorter != text and shorter:
        shorter = shorter[0].upper() + shorter[1:]
    return shorter or sentence


def trim_end(clause: str) -> str:
    """Ends a clause which was cut from its sentence like a sentence."""
    bare = clause.rstrip(" ,;:–—-")
    return bare + "." if bare and bare[-1].isalnum() and bare.isascii() else bare


def trim_start(clause: str) -> str:
    """Starts a clause which was cut from its sentence like a sentence."""
    bare = _JOINT.sub("", clause.lstrip(" ,;:–—-"), count=1) or clause
    return bare[0].upper() + bare[1:]
