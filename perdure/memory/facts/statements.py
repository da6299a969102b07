"""What a clause says beside its values: a rule, a need of the body, a name, a relation."""

import re

from perdure.memory.extract.cues import Cue, cues
from perdure.memory.facts.fact import Kind

_RULE = re.compile(
    r"\bplease,? (?:do not|don['’]t|never|always|keep|use|call|stop|avoid|remember|note|answer"
    r"|write"
    r"|reply|speak|quote|make sure|work with|leave|only|no)\b"
    r"|\b(?:do not|don['’]t|never) (?:ever )?(?:call|use|mention|suggest|offer|recommend|send"
    r"|write|quote"
    r"|contact|schedule|book|deploy|push|touch|change|delete|share|reveal|tell|ask me)\b"
    r"|\bno \w+(?: \w+){0,6},? ever\b|\bunder no circumstances\b|\b(?:from (?:now|here) on"
    r"|going forward)\b"
    r"|\b(?:must|may|should) (?:never|only|not)\b(?! (?:be|have|been|imagine))|\bmustn['’]t\b"
    r"|\bis not to be\b"
    r"|\bremind me (?:to|of|in|about|when|that|if)\b|, remind me\b|\bkeep (?:answers|replies)\b"
    r"|\b(?:no|not a single) \w+ of any kind\b"
    r"|^(?!(?:i|we|let|could|can|would|will|yes|ok(?:ay)?|sure|go|proceed)\b|no,)"
    r"(?:[^,?]+), please\W*$|\bplease, not\b",
    re.I,
)
_NAMING = re.compile(
    r"\b(?:called|named|nicknamed|known as|titled|christened)\s+[\"“'‘]?(?-i:[A-Z\d])"
    r"|\b(?:my|our|his|her|their|its|the) (?:\w+ ){0,3}(?:name|nickname|surname|title)(?:['’]s"
    r"| is| was| will be)\b"
    r"|\b(?:call|named?) (?:it|him|her|them|me|this|that|the \w+) [\"“'‘]?(?-i:[A-Z])"
    r"|\b(?:i['’]m|i am|this is|it's me,?) (?-i:[A-Z][\w'’-]+ [A-Z][\w'’-]+)"
    r"|\bmy (?:user ?name|handle|alias)\b"
    r"|我叫|名字[是叫]|叫做|名前は|といいます|\bзовут\b|\bназывается\b|اسمي|اسمه|اسمها|नाम .*है|ชื่อ",
    re.I,
)
_RELATION = re.compile(
    r"\b(?:my|our|his|her|their) (?:(?!to\b|in\b|at\b|of\b|with\b|from\b|and\b|for\b"
    r"|on\b)[a-z-]+ ){1,2}"
    r"[A-Z][\w'’-]+"
    r"|\b[A-Z][\w'’-]+, (?:my|our|his|her|their) [a-z]+"
    r"|\b(?:my|our|his|her|their) (?:[a-z]+ )?[a-z]+, (?:(?:Mr|Mrs|Ms|Dr|Prof)\.? )?[A-Z][\w'’-]+"
    r"|\b(?:the|an?) (?:[a-z]+ )?[a-z]+, (?:Mr|Mrs|Ms|Dr|Prof)\.? [A-Z]"
    r"|\b[A-Z][\w'’-]+, \d{1,3}, ",
)
_CORRECTION = re.compile(
    r"\bno longer\b|\binstead of\b|\bcorrection\b|\bscratch that\b|\bmoved (?:it )?to\b"
    r"|\bchanged?:|\bmake (?:it|that)\b.{0,40}\binstead\b|,? not (?:the |on |at "
    r"|in )?(?-i:[\d$€£A-Z])[\w.,/-]*"
    r"|\brather than\b|\bi meant\b|\bfinal:|\bnew (?:date|time|number|address|price|figure)\b"
    r"|更正|改成|改为|不再|変更|исправ\w+|больше не|تصحيح",
    re.I,
)
_PREFERENCE = re.compile(
    r"\b(?:i|we)(?:['’]d| would)? (?:much |really |always |strongly )?prefer\b"
    r"|\b(?:my|our) (?:(?:all-time|absolute) )?(?:favou?rite|preference"
    r"|preferred) (?:\w+ ){0,3}(?:is|are)\b|\bi (?:really |absolutely )?(?:hate|can['’]t stand"
    r"|dislike|detest)\b"
    r"|我?更?喜欢|偏好|предпочита\w+|أفضل|पसंद|ชอบ",
    re.I,
)


def kinds(clause: str) -> list[Kind]:
    """The kinds of a statement apart from those that its values give; of one that asks nothing."""
    found = []
    announced = cues(clause)
    if _RULE.search(clause) or Cue.CONSTRAINT in announced:
        found.append(Kind.RULE)
    if Cue.HEALTH in announced:
        found.append(Kind.HEALTH)
    for kind, pattern in (
        (Kind.NAMING, _NAMING),
        (Kind.CORRECTION, _CORRECTION),
        (Kind.PREFERENCE, _PREFERENCE),
        (Kind.RELATION, _RELATION),
    ):
        if pattern.search(clause):
            found.append(kind)
    return found
