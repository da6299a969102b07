from pathlib import Path

import pytest

from perdure.errors import SettingsError
from perdure.settings import Settings, default_model


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    for field in Settings.model_fields:
        monkeypatch.delenv(f"PERDURE_{field.upper()}", raising=False)


def test_defaults() -> None:
    settings = Settings()
    assert settings.data_dir == Path(".perdure")
    assert settings.task_queue == "perdure"
    assert settings.model is settings.summary_model is settings.database_url is None


def test_environment_is_read_and_empty_means_unset(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PERDURE_MODEL", " some-model ")
    monkeypatch.setenv("PERDURE_DATA_DIR", "~/conversations")
    monkeypatch.setenv("PERDURE_TASK_QUEUE", "")
    settings = Settings()
    assert settings.model == "some-model"
    assert settings.data_dir == Path.home() / "conversations"
    assert settings.task_queue == "perdure"


@pytest.mark.parametrize(
    ("variable", "value", "right"),
    [
        ("PERDURE_MODEL", "  ", "leave it unset"),
        ("PERDURE_SUMMARY_MODEL", "  ", "leave it unset"),
        ("PERDURE_TASK_QUEUE", "\t", "leave it unset"),
        ("PERDURE_TASK_QUEUE", "q" * 1001, "Temporal allows 1000"),
        ("PERDURE_IMPORTANCE", "rules.importance", "as module:function"),
        ("PERDURE_IMPORTANCE", "my rules:importance", "as module:function"),
        ("PERDURE_DATABASE_URL", "mysql://root:secret@db/x", "postgresql://user:password@host"),
        ("PERDURE_DATA_DIR", __file__, "is a file; it must be the path of a directory"),
        ("PERDURE_DATA_DIR", "~nobody-of-that-name/x", "must be the path of a directory"),
    ],
)
def test_wrong_value_is_named_in_one_sentence(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str, right: str
) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(SettingsError) as refused:
        Settings()
    sentence = str(refused.value)
    assert sentence.startswith(variable)
    assert right in sentence
    assert "\n" not in sentence
    assert "secret" not in sentence


def test_password_stays_out_of_the_repr() -> None:
    settings = Settings(database_url="postgresql://perdure:secret@db/perdure")
    assert "secret" not in repr(settings)


def test_default_model(monkeypatch: pytest.MonkeyPatch) -> None:
    assert default_model(Settings()) == "offline"
    monkeypatch.setenv("ANTHROPIC_API_KEY", "")
    assert default_model(Settings()) == "offline"
    monkeypatch.setenv("ANTHROPIC_API_KEY", "key")
    assert default_model(Settings()) == "claude-sonnet-5-5"
    assert default_model(Settings(model="other")) == "other"
