"""A summary in the user's own form: refused at the door when wrong, held to when right."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.entrance import parse_config
from perdure.memory.apply import identity
from perdure.memory.blocks import ContentError
from perdure.memory.notes.own import field_names, own_merged, own_text
from perdure.memory.notes.own_schema import breach, schema_fault
from perdure.memory.notes.template import filled, template_fault
from perdure.memory.plan import Part
from perdure.memory.policy import MemoryPolicy

TEXT = {"type": "string"}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["goal", "constraints"],
    "properties": {
        "constraints": {
            "type": "array",
            "items": {"type": "string", "maxLength": 20},
            "maxItems": 2,
        },
        "goal": {"type": "string", "title": "The goal", "maxLength": 30},
        "budget": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        "people": {"type": "array", "items": {"$ref": "#/$defs/Person"}},
    },
    "additionalProperties": False,
    "$defs": {
        "Person": {"type": "object", "properties": {"name": TEXT, "age": {"type": "integer"}}}
    },
}
GOOD = {"goal": "a bakery", "constraints": ["no nuts"], "people": [{"name": "Ines", "age": 9}]}


def of(field: object, **more: object) -> dict[str, Any]:
    return {"type": "object", "properties": {"a": field}, **more}


@pytest.mark.parametrize(
    ("schema", "sentence"),
    [
        ({}, 'must be of type "object" and name its fields'),
        ({"type": "object"}, 'must be of type "object" and name its fields'),
        ({"type": "array", "items": TEXT}, 'must be of type "object"'),
        (of({"type": "strng"}), "no JSON Schema: at properties/a/type"),
        (of({"type": "string", "maxLength": -1}), "no JSON Schema: at properties/a/maxLength"),
        (of({"type": "string", "pattern": "(a+)+$"}), "'a' has 'pattern', which is not supported"),
        (of(TEXT, oneOf=[TEXT]), "its top has 'oneOf'"),
        (of({}), "'a' needs a type"),
        (of(True), "'a' must be an object that names a type"),
        (of({"type": ["string", "null"]}), "write them as anyOf"),
        (of({"type": "array"}), "'a' needs items"),
        (of({"type": "array", "items": {}}), "an item of the field 'a' needs a type"),
        (of({"anyOf": [TEXT, {}]}), "choice 2 of the field 'a' needs a type"),
        (of({"enum": [["x"]]}), "may choose among texts"),
        (of({"$ref": "https://example.org/s"}), "only its own #/$defs/NAME"),
        (of({"$ref": "#/$defs/X"}), "only its own #/$defs/NAME"),
        (of({"$ref": "#/$defs/X"}, **{"$defs": {"X": of({"$ref": "#/$defs/X"})}}), "to itself"),
        (of({"type": "string", "description": "x" * 20_000}), "bytes, more than 20,000"),
    ],
)
def test_a_schema_that_no_model_can_be_held_to_is_refused(
    schema: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(ContentError) as raised:
        parse_config({"policy": {"summary_schema": schema}})
    assert "config policy.summary_schema: " in str(raised.value)
    assert sentence in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("template", "sentence"),
    [
        ("Goal: {aim}", "no field 'aim' to show; known are goal, constraints, budget, people"),
        ("Goal: {goal.text}", "no field 'goal.text'"),
        ("Goal: {}", "no field ''"),
        ("Goal: {goal", "single { must be doubled"),
        ("Goal: goal}", "single } must be doubled"),
        ("Goal", "it shows no field; name one in braces, such as {goal}"),
    ],
)
def test_a_template_with_unknown_fields_is_refused(template: str, sentence: str) -> None:
    with pytest.raises(ContentError) as raised:
        parse_config({"policy": {"summary_schema": SCHEMA, "summary_template": template}})
    assert sentence in str(raised.value)


def test_without_a_schema_a_template_shows_the_fields_of_notes() -> None:
    parse_config({"policy": {"summary_template": "{gist}\n{decisions}"}})
    with pytest.raises(ContentError, match="known are gist, current_task"):
        parse_config({"policy": {"summary_template": "{goal}"}})


def test_a_good_schema_passes_and_its_fields_keep_an_order() -> None:
    """Also where a store has sorted the names."""
    assert schema_fault(SCHEMA) is None
    resorted = {**SCHEMA, "properties": dict(sorted(SCHEMA["properties"].items()))}
    assert field_names(SCHEMA) == field_names(resorted)
    assert field_names(SCHEMA) == ["goal", "constraints", "budget", "people"]


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        ({**GOOD, "goal": "x" * 31}, "the field 'goal' does not keep to maxLength 30"),
        ({**GOOD, "constraints": ["a", "b", "c"]}, "'constraints' does not keep to maxItems 2"),
        ({**GOOD, "constraints": ["x" * 21]}, "'constraints.0' does not keep to maxLength 20"),
        ({**GOOD, "goal": 4}, "'goal' does not keep to type string"),
        ({"goal": "x"}, "'constraints' is a required property"),
        ({**GOOD, "mood": "good"}, "'mood' was unexpected"),
    ],
)
def test_an_answer_that_breaks_a_limit_is_told_which(answer: object, sentence: str) -> None:
    assert sentence in (breach(answer, SCHEMA) or "")


def test_an_answer_that_keeps_to_the_schema_passes() -> None:
    assert breach(GOOD, SCHEMA) is None


def test_without_a_template_the_fields_are_written_below_their_names() -> None:
    assert own_text({**GOOD, "budget": None}, SCHEMA) == (
        "The goal: a bakery\nconstraints:\n- no nuts\npeople:\n- name: Ines, age: 9"
    )


def test_answers_on_the_parts_of_a_source_become_one_within_its_limits() -> None:
    parts: list[dict[str, Any]] = [
        {"goal": "a bakery", "constraints": ["no nuts", "no debts"], "budget": 5},
        {"goal": "", "constraints": ["no debts", "no noise"], "budget": None},
    ]
    whole = own_merged(parts, SCHEMA)
    assert whole == {"goal": "a bakery", "constraints": ["no debts", "no noise"], "budget": 5}
    assert breach(whole, SCHEMA) is None


def test_a_template_is_filled() -> None:
    template = (
        "<system-info>\nGoal: {goal} {{kept}}\nConstraints:\n{constraints}\n"
        "Budget: {budget}\nAll: {constraints}; {people}\n</system-info>"
    )
    values = {**GOOD, "constraints": ["no nuts", "{goal}\nand more"], "budget": None}
    assert filled(template, values) == (
        "<system-info>\nGoal: a bakery {kept}\nConstraints:\n- no nuts\n- {goal} and more\n"
        "All: no nuts; {goal} and more; name: Ines, age: 9\n</system-info>"
    )


@given(st.text())
def test_any_template_is_taken_or_refused_and_what_is_taken_can_be_filled(template: str) -> None:
    if template_fault(template, ["goal"]) is None:
        assert "x" in filled(template, {"goal": "x"})


def test_schema_and_template_belong_to_the_identity_of_a_compaction() -> None:
    part = Part(level=1, first_seq=0, last_seq=3, source_tokens=900, target_tokens=180)
    policies = [
        MemoryPolicy(),
        MemoryPolicy(summary_schema=SCHEMA),
        MemoryPolicy(summary_schema=SCHEMA, summary_template="{goal}"),
    ]
    names = [identity("00", part, policy, "observe-2", "m") for policy in policies]
    assert len(dict.fromkeys(names)) == 3
