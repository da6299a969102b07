"""What can be known of the containers without Docker: their files, and the scripts in them."""

import asyncio
import json
import os
import re
import subprocess
import sys
import tomllib
import uuid
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from temporalio.client import Client

import worker
from perdure.settings import Settings

ROOT = Path(__file__).parent.parent
BIN = Path(sys.executable).parent
SCHEMA = ROOT / "tests" / "data" / "compose-spec.json"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
COMPOSE_TEXT = (ROOT / "docker-compose.yml").read_text(encoding="utf-8")
COMPOSE: dict[str, Any] = yaml.safe_load(COMPOSE_TEXT)
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
ONE_SHOT = {"temporal-schema", "temporal-namespace"}
LONG_RUNNING = SERVICES.keys() - ONE_SHOT
DOCKERFILE = [
    line.split(maxsplit=1)
    for line in (ROOT / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ").splitlines()
    if line and not line.startswith("#")
]

SECRET = re.compile(r"KEY|PASSWORD|PWD|SECRET|TOKEN")
VARIABLE = re.compile(r"\$\{(\w+)")
FOREIGN_VARIABLES = {
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_BASE_URL",
    "TEMPORAL_ADDRESS",
    "TEMPORAL_NAMESPACE",
}
"""What the worker reads beside `Settings`: the Anthropic SDK's and Temporal's conventions."""


def assigned() -> dict[str, str]:
    """The variables of .env.example."""
    lines = (ROOT / ".env.example").read_text(encoding="utf-8").splitlines()
    pairs = [line.partition("=") for line in lines if line and not line.startswith("#")]
    return {name: value for name, _, value in pairs}


def instructions(name: str) -> list[str]:
    return [rest for instruction, rest in DOCKERFILE if instruction == name]


def as_run(text: str) -> str:
    """What Compose makes of a value without variables of its own."""
    assert not VARIABLE.search(text)
    return text.replace("$$", "$")


def script(service: str) -> list[str]:
    return [as_run(word) for word in SERVICES[service]["entrypoint"] + SERVICES[service]["command"]]


async def run(command: list[str], **environment: str) -> tuple[int, str]:
    """Exit status and output; the event loop stays free for the workers of the test."""
    done = await asyncio.to_thread(
        subprocess.run,
        command,
        env={"PATH": f"{BIN}:{os.environ['PATH']}", **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout


def test_the_compose_file_follows_the_specification() -> None:
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    validator = jsonschema.Draft202012Validator(schema)
    assert [error.message for error in validator.iter_errors(COMPOSE)] == []
    wrong = {"services": {"worker": {"restrat": "always"}}}
    assert not validator.is_valid(wrong)


def test_images_are_pinned() -> None:
    images = [service["image"] for service in SERVICES.values()]
    images += [rest.split()[0] for rest in instructions("FROM")]
    for image in images:
        name, _, tag = image.partition(":")
        assert re.search(r"\d+\.\d+\.\d+", tag), f"{name} is not pinned: {tag!r}"


def test_versions_that_belong_together_agree() -> None:
    def tag(service: str) -> str:
        return str(SERVICES[service]["image"].partition(":")[2])

    assert tag("temporal") == tag("temporal-schema") == tag("temporal-namespace")
    assert tag("worker") == PROJECT["version"]
    assert len({rest.split()[0] for rest in instructions("FROM")}) == 1


@pytest.mark.parametrize("name", sorted(LONG_RUNNING))
def test_long_running_services_are_checked_and_come_back(name: str) -> None:
    service = SERVICES[name]
    assert service["restart"] == "unless-stopped"
    assert service["healthcheck"]["test"][0] == "CMD"
    for port in service.get("ports", []):
        assert port.startswith("${BIND_ADDRESS:-127.0.0.1}:")


@pytest.mark.parametrize("name", sorted(SERVICES))
def test_what_a_service_waits_for_can_happen(name: str) -> None:
    for needed, wait in SERVICES[name].get("depends_on", {}).items():
        expected = "service_completed_successfully" if needed in ONE_SHOT else "service_healthy"
        assert wait["condition"] == expected
    if name in ONE_SHOT:
        assert SERVICES[name]["restart"].startswith("on-failure:")


def test_data_outlives_its_container() -> None:
    mounts = [mount for service in SERVICES.values() for mount in service.get("volumes", [])]
    assert mounts == ["postgres:/var/lib/postgresql"]
    assert list(COMPOSE["volumes"]) == ["postgres"]


def test_secrets_come_from_the_environment() -> None:
    for name, service in SERVICES.items():
        for variable, value in service["environment"].items():
            if SECRET.search(variable):
                assert re.fullmatch(r"\$\{\w+:[?-][^}]*\}", value), f"{name}: {variable}"
                assert ":-" not in value or value.endswith(":-}"), f"{name}: {variable}"
    for user, password in re.findall(r"//([^:/@]+):(.+?)@", COMPOSE_TEXT):
        assert VARIABLE.match(password), f"the password of {user} is written out"


def test_the_example_names_every_variable_and_no_secret() -> None:
    example = assigned()
    assert set(VARIABLE.findall(COMPOSE_TEXT)) == example.keys()
    assert {name: value for name, value in example.items() if SECRET.search(name) and value} == {}
    for name, default in re.findall(r"\$\{(\w+):-([^}]*)\}", COMPOSE_TEXT):
        assert example[name] == default


def test_the_worker_gets_variables_that_it_reads() -> None:
    ours = {f"PERDURE_{field}".upper() for field in Settings.model_fields}
    given = SERVICES["worker"]["environment"].keys()
    assert given <= ours | FOREIGN_VARIABLES
    assert given >= {"TEMPORAL_ADDRESS", "PERDURE_DATABASE_URL", "ANTHROPIC_API_KEY"}


def test_the_settings_accept_what_compose_gives_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    values = assigned() | {"POSTGRES_PASSWORD": "0123abcd"}
    for name, text in SERVICES["worker"]["environment"].items():
        monkeypatch.setenv(
            name, re.sub(r"\$\{(\w+)[^}]*\}", lambda found: values[found.group(1)], text)
        )
    settings = Settings()
    assert settings.database_url == "postgresql://perdure:0123abcd@postgres:5432/perdure"
    assert (settings.model, settings.task_queue) == (None, "perdure")


def test_the_worker_has_longer_to_stop_than_its_calls_have_to_finish() -> None:
    grace = int(SERVICES["worker"]["stop_grace_period"].removesuffix("s"))
    assert grace >= worker._GRACE.total_seconds() + 10


def test_the_image_runs_our_command_without_privileges() -> None:
    name, *arguments = json.loads(instructions("CMD")[-1])
    assert name in PROJECT["scripts"]
    assert arguments == ["worker"]
    user = instructions("USER")[-1].partition(":")[0]
    assert int(user) > 0
    assert DOCKERFILE.index(["USER", instructions("USER")[-1]]) > max(
        index for index, (instruction, _) in enumerate(DOCKERFILE) if instruction == "RUN"
    )
    assert instructions("STOPSIGNAL") == ["SIGTERM"]
    assert not {"command", "entrypoint", "user", "privileged"} & SERVICES["worker"].keys()


def test_the_builder_sees_what_it_copies_and_nothing_else() -> None:
    ignore = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    rules = [line for line in ignore if line and not line.startswith("#")]
    visible = {rule.removeprefix("!") for rule in rules if rule.startswith("!")}
    copied = {
        source
        for rest in instructions("COPY")
        if not rest.startswith("--from")
        for source in rest.split()[:-1]
    }
    assert rules[0] == "*"
    assert copied == visible
    assert [source for source in sorted(copied) if not (ROOT / source).exists()] == []


async def test_the_schema_script_prepares_both_databases_and_stops_at_an_error(
    tmp_path: Path,
) -> None:
    tool = tmp_path / "temporal-sql-tool"
    tool.write_text('#!/bin/sh\necho "$@"\ntest "$3" != "$FAILS"\n', encoding="utf-8")
    tool.chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"

    def steps(database: str, kind: str) -> list[str]:
        directory = f"/etc/temporal/schema/postgresql/v12/{kind}/versioned"
        return [
            f"--db {database} create",
            f"--db {database} setup-schema -v 0.0",
            f"--db {database} update-schema -d {directory}",
        ]

    status, output = await run(script("temporal-schema"), PATH=path, FAILS="none")
    assert status == 0
    expected = steps("temporal", "temporal") + steps("temporal_visibility", "visibility")
    assert output.splitlines() == expected

    status, output = await run(script("temporal-schema"), PATH=path, FAILS="setup-schema")
    assert status != 0
    assert output.splitlines() == expected[:2]


async def test_the_namespace_script_creates_it_once_and_waits_until_it_is_usable(
    client: Client,
) -> None:
    namespace = f"compose-{uuid.uuid4().hex[:8]}"
    environment = {
        "TEMPORAL_ADDRESS": client.service_client.config.target_host,
        "TEMPORAL_NAMESPACE": namespace,
        "RETENTION": assigned()["TEMPORAL_RETENTION"],
    }
    status, first = await run(script("temporal-namespace"), **environment)
    assert status == 0, first
    assert "successfully registered" in first
    status, again = await run(script("temporal-namespace"), **environment)
    assert status == 0, again
    assert "successfully registered" not in again
    assert "720h0m0s" in again


async def test_the_worker_is_healthy_while_it_polls(client: Client, server_url: str) -> None:
    check = [as_run(word) for word in SERVICES["worker"]["healthcheck"]["test"][1:]]
    environment = {
        "TEMPORAL_ADDRESS": client.service_client.config.target_host,
        "PERDURE_TASK_QUEUE": f"compose-{uuid.uuid4().hex[:8]}",
    }
    status, output = await run(check, **environment)
    assert (status, output) == (1, "no worker of this host polls\n")

    settings = Settings(task_queue=environment["PERDURE_TASK_QUEUE"], database_url=server_url)
    async with worker.running(client, settings):
        status, output = await run(check, **environment)
    assert (status, output) == (0, "polling\n")
