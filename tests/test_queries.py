"""The file that `perdure evaluate` reads."""

import pytest

from perdure.errors import Refused
from perdure.memory.evaluate import Query
from perdure.queries import parse_queries


def test_queries() -> None:
    text = """[{"question": "How much?", "expected_answer": 1150},
               {"question": "What now?", "expected_answer": "ship it", "kind": "continuation"}]"""
    assert parse_queries(text) == [
        Query(question="How much?", expected_answer="1150"),
        Query(question="What now?", expected_answer="ship it", kind="continuation"),
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "this is not JSON"),
        ("{", "this is not JSON"),
        ("{}", "a list of queries is needed"),
        ("[]", "the list holds no query"),
        ("[1]", "query 1 must be an object"),
        ('[{"question": "Who?"}]', "query 1 needs expected_answer, a text"),
        ('[{"expected_answer": "Ada"}]', "query 1 needs question, a text"),
        ('[{"question": " ", "expected_answer": "Ada"}]', "query 1 needs question, a text"),
        ('[{"question": "Who?", "expected_answer": true}]', "needs expected_answer, a text"),
        ('[{"question": "Who?", "expected_answer": "A", "kind": "x"}]', "kind must be one of"),
        ('[{"question": "Who?", "expected_answer": "A", "kind": ["x"]}]', "kind must be one of"),
        ('[{"question": "Who?", "expected_answer": "A", "ratio": 1}]', "ratio is unknown"),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence(text: str, said: str) -> None:
    with pytest.raises(Refused) as refused:
        parse_queries(text)
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)
