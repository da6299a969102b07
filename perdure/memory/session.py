"""What is told of a session at its end: topic, goal, decisions, outcome, to do, preferences."""

import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict

from perdure.memory.extract.lines import read
from perdure.memory.extract.words import words
from perdure.memory.facts.clauses import told
from perdure.memory.facts.fact import Kind
from perdure.memory.facts.statements import kinds
from perdure.memory.notes import merged, read_notes, settled

ITEMS = 8
"""Lines of a list at most, the newest."""
LONGEST = 200
"""Characters of a line at most."""
NAMES = 4
"""Names that make a topic."""

_GOAL = re.compile(
    r"\b(?:i|we) (?:want|need|would like|plan|hope|am trying|are trying|am looking|are looking)\b"
    r"|\b(?:i['’]d|we['’]d) like\b|\b(?:help me|can you|could you|please|goal)\b"
    r"|想要|需要|帮我|たい|ください|\b(?:хочу|хотим|нужно|помоги\w*)\b|أريد|ساعدني|चाहत|मदद|อยาก|ช่วย",
    re.IGNORECASE,
)
_DECIDED = re.compile(
    r"\b(?:decided?|decision|agreed|chose|chosen|settled on|opted|approved|confirmed|booked"
    r"|signed|ordered|committed to|we will (?:use|take|go)|we['’]ll (?:use|take|go)|let['’]s (?:use"
    r"|take|go with))\b"
    r"|决定|决議|同意|決め|\bреши\w+|\bдоговорил\w+|قرر|اتفقنا|फैसला|तय|ตัดสินใจ|ตกลงว่า",
    re.IGNORECASE,
)
_TO_DO = re.compile(
    r"\b(?:to[- ]do|need(?:s)? to|have to|has to|(?:i|we|you) must(?! not| never| always)"
    r"|remind me|next steps?|still open|deadline|due (?:on|by)"
    r"|by (?:mon|tues|wednes|thurs|fri|satur|sun)day|by tomorrow|follow up"
    r"|i['’]ll|i will|don['’]t forget to|remember to)\b"
    r"|提醒|待办|下一步|必须|忘れない|までに|\b(?:напомни\w*|надо|должн\w+)\b|ذكرني|يجب أن"
    r"|याद दिला|करना है|เตือน|ต้อง",
    re.IGNORECASE,
)
_DONE = re.compile(
    r"\b(?:done[.!]?$|finished|completed?|fixed|solved|resolved|works now|working now|delivered"
    r"|deployed|merged|cancell?ed|failed|arrived|is ready|is booked|went well)\b"
    r"|完成|解决|成功|失败|終わ|完了|\b(?:готово|сделан\w*|решено|закончил\w*)\b|تم|انته"
    r"|पूरा|हो गया|เสร็จ",
    re.IGNORECASE,
)
_NAME = re.compile(r"[A-Z][\w'’-]{2,}(?: (?:of |the |and )?[A-Z][\w'’-]+)*")
_PREFERENCES = (Kind.RULE, Kind.PREFERENCE, Kind.HEALTH)


class Told(BaseModel):
    """What was said in a session, by its own words. Lists are in the order of telling."""

    model_config = ConfigDict(frozen=True)

    topic: str = ""
    goal: str = ""
    decisions: list[str] = []
    outcome: list[str] = []
    action_items: list[str] = []
    preferences: list[str] = []


class Session(Told):
    """A session that ended: what was told in it, its counts and its times.

    `summary` are the texts of its entries. `messages`, `turns` and `compactions` count those of
    the session, `tokens` what was said in it; it covers the messages from `first_seq` on. The
    times are of its first and last message, `seconds` what lies between them.
    """

    summary: str = ""
    first_seq: int = 0
    messages: int = 0
    turns: int = 0
    compactions: int = 0
    tokens: int = 0
    first_at: datetime | None = None
    last_at: datetime | None = None
    seconds: int = 0


class _Said(NamedTuple):
    role: str
    text: str
    asked: bool


def told_in(texts: Sequence[str], made: Sequence[str] = ()) -> Told:
    """What texts tell of a session, oldest first: entries, and messages as "role: words".

    `made` are what a model wrote of the part before them: the fields of its notes are taken as
    they are. Elsewhere clauses are picked by what they announce. A pure function.
    """
    read_as = [(text, read_notes(text)) for text in made]
    notes = merged([n for _, n in read_as if n is not None]) if any(n for _, n in read_as) else None
    picked = _picked([*(text for text, n in read_as if n is None), *texts])
    if notes is None:
        return picked
    return Told(
        topic=_short(notes.gist),
        goal=_short(notes.current_task) or picked.goal,
        decisions=_last([*notes.decisions, *picked.decisions]),
        outcome=_last(notes.outcomes) or picked.outcome,
        action_items=_last(
            [*(a.text for a in settled(notes, [notes]).action_items), *picked.action_items]
        ),
        preferences=_last([*notes.instructions, *picked.preferences]),
    )


def _picked(texts: Sequence[str]) -> Told:
    said = list(_said(texts))
    statements = [s for s in said if not s.asked]
    users = [s for s in said if s.role != "assistant"]
    decided = [s for s in statements if _DECIDED.search(s.text)]
    wished = [s for s in statements if s.role != "assistant" and _wishes(s.text)]
    open_ = [s for s in statements if _TO_DO.search(s.text) and s not in (*decided, *wished)]
    done = [s for s in statements if _DONE.search(s.text)] or statements[-1:]
    goals = [s for s in users if _GOAL.search(s.text)] or users
    return Told(
        topic=_topic(texts),
        goal=_short(goals[0].text) if goals else "",
        decisions=_newest(decided),
        outcome=_newest(done),
        action_items=_newest(open_),
        preferences=_newest(wished),
    )


def _said(texts: Sequence[str]) -> Iterator[_Said]:
    for text in texts:
        for line in read(text):
            for clause in told(line.text):
                if "\n" not in clause.text:
                    yield _Said(line.role, clause.text, clause.asked)


def _wishes(text: str) -> bool:
    return any(kind in _PREFERENCES for kind in kinds(text))


def _topic(texts: Sequence[str]) -> str:
    """The names that are told most often, of those told again if any is; first told first."""
    times: dict[str, int] = {}
    for text in texts:
        for line in read(text):
            names = [word.stem for word in words(line.text) if word.is_name and not word.is_number]
            for found in _NAME.findall(line.text):
                if any(word.stem in names for word in words(found)):
                    times[found] = times.get(found, 0) + 1
    again = [name for name in times if times[name] > 1] or list(times)
    most = sorted(again, key=lambda name: -times[name])[:NAMES]
    return ", ".join(name for name in times if name in most)


def _newest(said: Sequence[_Said]) -> list[str]:
    return _last([s.text for s in said])


def _last(lines: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(map(_short, lines)))[-ITEMS:]


def _short(text: str) -> str:
    if len(text) <= LONGEST:
        return text
    return f"{text[:LONGEST].rpartition(' ')[0] or text[:LONGEST]} ..."
