"""What is a fact: values by shape, rules and names by their clause, records by what tools did."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from perdure.memory.facts import Fact, Kind, collect
from perdure.memory.facts.tools import noted, written
from perdure.memory.message import Message, Role

START = datetime(2026, 3, 1, 9, tzinfo=UTC)


def message(seq: int, content: str | list[dict[str, Any]], role: Role = "user") -> Message:
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    return Message(seq=seq, role=role, content=blocks, at=START + timedelta(hours=seq))


def told(*texts: str, role: Role = "user") -> list[Fact]:
    return collect([message(i, text, role) for i, text in enumerate(texts)])


def strongest(text: str) -> Fact:
    return max(told(text), key=lambda fact: fact.rank)


@pytest.mark.parametrize(
    ("text", "kind", "clause"),
    [
        (
            "We talked a lot, and the order number is AB-4471-Q, which took weeks.",
            Kind.IDENTIFIER,
            "The order number is AB-4471-Q",
        ),
        ("My son is allergic to peanuts.", Kind.HEALTH, "My son is allergic to peanuts"),
        ("Please never call me before nine.", Kind.RULE, "Please never call me before nine"),
        ("One rule: always answer in French.", Kind.RULE, "One rule: always answer in French"),
        ("Our boat is called Heron.", Kind.NAMING, "Our boat is called Heron"),
        ("The wage is $17.50 an hour.", Kind.MONEY, "The wage is $17.50 an hour"),
        ("I'd prefer a window seat.", Kind.PREFERENCE, "I'd prefer a window seat"),
        ("The exam is on 4 May 2026.", Kind.DATE, "The exam is on 4 May 2026"),
        ("It broke in src/app/main.py again.", Kind.ADDRESS, "It broke in src/app/main.py again"),
        (
            "Run `make check all` before each push.",
            Kind.ADDRESS,
            "Run `make check all` before each push",
        ),
        ("I met Ada, my sister, there.", Kind.RELATION, "I met Ada, my sister, there"),
    ],
)
def test_kinds(text: str, kind: Kind, clause: str) -> None:
    fact = strongest(text)
    assert (fact.kind, fact.text) == (kind, clause)


@pytest.mark.parametrize("text", ["Thanks a lot!", "What a lovely day.", "You must love it there."])
def test_small_talk_holds_no_facts(text: str) -> None:
    assert told(text) == []


def test_a_clause_that_points_back_takes_along_what_it_points_to() -> None:
    assert strongest("We bought a stove. It costs 480 euros.").text == (
        "We bought a stove. It costs 480 euros"
    )


def test_the_users_words_count_more_than_the_assistants() -> None:
    text = "The reservation code is QX7R2M."
    assert told(text)[0].rank > told(text, role="assistant")[0].rank


def test_a_pasted_log_does_not_count_in_full() -> None:
    log = ". ".join(f"Row a{n}b{n} was read" for n in range(30))
    ranks = [fact.rank for fact in told(log)]
    assert ranks[0] > 2 * ranks[-1]


def test_the_newest_value_stands_for_what_it_corrects() -> None:
    facts = told(
        "My last day at the hospital is March 27.",
        "A correction: my last day at the hospital is April 10, not March 27.",
    )
    assert [fact.text for fact in facts] == [
        "A correction: my last day at the hospital is April 10, not March 27"
    ]


def test_when_in_doubt_both_values_stay() -> None:
    facts = told("The rent is 900 euros.", "Actually, the deposit is 1,800 euros.")
    assert len(facts) == 2


def call(name: str, given: dict[str, Any], id_: str = "t1") -> dict[str, Any]:
    return {"type": "tool_use", "id": id_, "name": name, "input": given}


def result(content: Any, id_: str = "t1") -> dict[str, Any]:
    text = content if isinstance(content, str) else json.dumps(content)
    return {"type": "tool_result", "tool_use_id": id_, "content": text}


def trail(*pairs: tuple[dict[str, Any], dict[str, Any]]) -> list[Fact]:
    messages = []
    for i, (asked, came) in enumerate(pairs):
        messages += [message(2 * i, [asked], "assistant"), message(2 * i + 1, [came])]
    return collect(messages)


def test_what_a_tool_was_told_and_the_telling_fields_of_one_record() -> None:
    record = {"id": "card_9921", "status": "open", "remark": "nothing to add"}
    facts = trail((call("get_order", {"order_id": "#W99"}), result(record)))
    assert [fact.text for fact in facts] == [
        "called get_order: order_id #W99",
        "called get_order: gave id card_9921",
        "called get_order: order_id #W99, gave status open",
    ]


def test_a_listing_is_left_out() -> None:
    rows = [{"id": f"row_{n}"} for n in range(40)]
    facts = trail((call("search", {"q": "x-100"}), result(rows)))
    assert all("row_" not in fact.text for fact in facts)


def test_the_last_action_on_a_file_stands_for_all() -> None:
    facts = trail(
        (call("read", {"path": "/srv/app/main.py"}), result("text")),
        (call("edit", {"path": "/srv/app/main.py"}, "t2"), result("Error: no match", "t2")),
    )
    assert [fact.text for fact in facts] == [
        "called edit: path /srv/app/main.py",
        "called edit: error Error: no match",
    ]


def test_what_came_back_and_was_used_later_counts_as_told() -> None:
    facts = trail(
        (call("get_user", {"id": "ada_4471"}), result({"reservations": ["QX7R2M", "ZK9P1T"]})),
        (call("cancel", {"reservation": "QX7R2M"}, "t2"), result("done", "t2")),
    )
    ranks = {fact.text: fact.rank for fact in facts}
    assert (
        ranks["called cancel: reservation QX7R2M"]
        > ranks["called get_user: gave reservations ZK9P1T"]
    )
    assert "called get_user: gave reservations QX7R2M" not in ranks


def test_what_came_back_and_was_spoken_of_counts_more() -> None:
    asked, came = call("get_user", {"id": "ada_4471"}), result({"reservations": ["QX7R2M"]})
    silent = trail((asked, came))[-1]
    spoken = collect(
        [message(0, [asked], "assistant"), message(1, [came]), message(2, "It is QX7R2M, then.")]
    )
    same = next(fact for fact in spoken if fact.text == silent.text)
    assert same.rank > silent.rank


@pytest.mark.parametrize(
    "pairs",
    [
        [("path", "/srv/main.py")],
        [("id", "A-1"), ("id", "A-2"), ("day", "2026-03-01")],
        [("id", "A-1"), ("gave id", "B-1"), ("gave id", "B-2"), ("gave status", "open")],
        [("gave status", "open"), ("gave owner", "Ada")],
    ],
)
def test_a_line_about_a_call_reads_back_as_it_was(pairs: list[tuple[str, str]]) -> None:
    assert noted(written("look", pairs)) == ("look", pairs)


def test_a_favour_is_no_rule() -> None:
    assert all(fact.kind is not Kind.RULE for fact in told("Let's go with economy, please."))
    assert strongest("No calls before nine, please.").kind is Kind.RULE


def test_of_states_the_newest_stands_with_what_it_is_the_state_of() -> None:
    facts = trail(
        (call("get_order", {"order": "W-991"}), result({"status": "open"})),
        (call("get_order", {"order": "W-992"}, "t2"), result({"status": "open"}, "t2")),
        (call("get_order", {"order": "W-991"}, "t3"), result({"status": "shipped"}, "t3")),
    )
    assert [fact.text for fact in facts if "status" in fact.text] == [
        "called get_order: order W-992, gave status open",
        "called get_order: order W-991, gave status shipped",
    ]
