"""The embedded servers: they serve other commands, end on SIGTERM, and keep what was said."""

import shutil
import signal

from tests.cli.conftest import Cli, ended, start
from tests.support.directories import passable_directory


async def test_serve_until_stopped_and_again(cli: Cli) -> None:
    directory = passable_directory()
    home = {"PERDURE_DATA_DIR": str(directory / "state")}

    async def serve(*commands: tuple[str, ...]) -> list[str]:
        serving = await start("serve", "--port", "0", env=home)
        assert serving.stdout is not None
        printed = ""
        while "Ctrl-C stops" not in printed:
            line = await serving.stdout.readline()
            assert line, await ended(serving)
            printed += line.decode()
        assert "127.0.0.1:" in printed
        assert "offline" in printed
        texts = [(await cli(*command, TEMPORAL_ADDRESS="", **home)).text for command in commands]
        serving.send_signal(signal.SIGTERM)
        assert (await ended(serving)).code == 0
        return texts

    await serve(("send", "kept", "My dog is called Rex.", "--wait"))
    again, listed = await serve(("send", "kept", "What is my dog called?", "--wait"), ("list",))
    assert "Rex" in again
    assert "kept" in listed
    shutil.rmtree(directory)
