"""The importance that a worker was told to use, found by its name."""

from importlib import import_module
from types import FunctionType

from perdure.errors import SettingsError
from perdure.memory.extract.importance import Importance, Value, importance
from perdure.memory.extract.score import values

SETTING = "PERDURE_IMPORTANCE"
_SAMPLES = ("Never call before 9:30.", "The rent is 1,150 euros.", "Thanks!", "嗯。", "")


def find_importance(name: str | None) -> Importance:
    """The function that `module:function` names; without a name the default.

    It is tried on a few sentences. Raises SettingsError when there is no such function, when it
    fails, or when what it gives is not a Value of whole numbers.
    """
    if name is None:
        return importance
    module, _, function = name.partition(":")
    try:
        found: object = getattr(import_module(module), function, None)
    except ImportError as error:
        raise SettingsError(f"{SETTING} is {name!r}, which cannot be imported: {error}.") from error
    if not isinstance(found, FunctionType):
        raise SettingsError(f"{SETTING} is {name!r}, but {module} has no function {function!r}.")
    _try(name, found)
    return found


def _try(name: str, judge: Importance) -> None:
    try:
        given = values(_SAMPLES, ["user"] * len(_SAMPLES), judge)
    except Exception as error:
        raise SettingsError(
            f"{SETTING} is {name!r}, which fails on a sample: {type(error).__name__}: {error}."
        ) from error
    for value in given:
        if not _is_value(value):
            raise SettingsError(
                f"{SETTING} is {name!r}, which must give a perdure.memory.extract.Value of whole "
                f"numbers, not {value!r}."
            )


def _is_value(value: object) -> bool:
    if not isinstance(value, Value):
        return False
    return all(isinstance(number, int) for number in (value.factor, *(w for _, w in value.weights)))


def label(version: str, judge: Importance) -> str:
    """A prompt version that tells by which importance an extract was made."""
    if judge is importance:
        return version
    return f"{version}+{judge.__module__}:{getattr(judge, '__qualname__', '')}"
