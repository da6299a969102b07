"""What is told of a session, by its own words and without a model."""

from perdure.memory.notes import Action, Notes, written
from perdure.memory.session import ITEMS, LONGEST, Told, told_in

TEXTS = [
    "user: I want to open a bakery in Tannery Lane. Can you help me with the papers?",
    "assistant: Gladly. The bakery in Tannery Lane needs a permit.",
    "user: Never quote prices without tax. I prefer Celsius.",
    "8 May 2023:\nuser: We decided to buy the oven from Hallmoor Ovens.\nuser: Is it booked?",
    "user: I have to send the form to Hallmoor Ovens by Friday.",
    "assistant: The contract for Tannery Lane is finished.",
]


def test_a_session_is_told_by_what_was_said_in_it() -> None:
    assert told_in(TEXTS) == Told(
        topic="Tannery Lane, Hallmoor Ovens",
        goal="I want to open a bakery in Tannery Lane",
        decisions=["We decided to buy the oven from Hallmoor Ovens"],
        outcome=["The contract for Tannery Lane is finished"],
        action_items=["I have to send the form to Hallmoor Ovens by Friday"],
        preferences=["Never quote prices without tax", "I prefer Celsius"],
    )


def test_other_scripts_are_told_too() -> None:
    told = told_in(["user: 我想要一个网站。我们决定使用红色。请始终用中文回答。网站完成了。"])
    assert told.goal == "我想要一个网站。"
    assert told.decisions == ["我们决定使用红色。"]
    assert told.outcome == ["网站完成了。"]
    assert "请始终用中文回答。" in told.preferences


def test_without_a_word_for_it_the_last_statement_is_the_outcome() -> None:
    told = told_in(["user: The cat sleeps.", "assistant: It sleeps well.", "user: Does it?"])
    assert told.outcome == ["It sleeps well"]
    assert told.goal == "The cat sleeps"


def test_nothing_gives_nothing() -> None:
    assert told_in([]) == told_in(["", "\n"]) == Told()


def test_it_stays_small_and_keeps_the_newest() -> None:
    told = told_in([f"user: We decided on plan {n} {'very ' * 200}well." for n in range(50)])
    assert len(told.decisions) == ITEMS
    assert told.decisions[-1].startswith("We decided on plan 49")
    assert all(len(line) <= LONGEST + 4 for line in told.decisions)
    assert len(told.model_dump_json()) < 7_500


def test_what_a_model_noted_is_taken_as_it_is() -> None:
    notes = Notes(
        gist="A bakery is planned.",
        current_task="Find an oven.",
        instructions=["Never quote prices without tax."],
        decisions=["Tannery Lane it is, for its chimney."],
        action_items=[Action(text="Call Hallmoor."), Action(text="Sign the lease.", done=True)],
        outcomes=["The lease came to 1,150 euros."],
    )
    assert told_in(["user: We decided to wait."], [written(notes)]) == Told(
        topic="A bakery is planned.",
        goal="Find an oven.",
        decisions=["Tannery Lane it is, for its chimney.", "We decided to wait"],
        outcome=["The lease came to 1,150 euros."],
        action_items=["Call Hallmoor."],
        preferences=["Never quote prices without tax."],
    )
    free = told_in([], ["Two\nfree lines.\nWe decided to wait."])
    assert free.decisions == ["We decided to wait"]
