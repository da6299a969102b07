"""The commands, panel by panel: where each is defined, and the line that lists it.

The line is the first of the command's own help.
"""

COMMANDS: dict[str, dict[str, tuple[str, str]]] = {
    "Talk": {
        "chat": ("chat:chat", "Talk; Ctrl-C stops a reply, and leaves where there is none."),
        "send": (
            "sending:send",
            "Send a message; prints its id. Starts the conversation if there is none.",
        ),
        "import": (
            "importing:import_",
            "Append messages spoken elsewhere, without replies to them.",
        ),
        "approve": (
            "approving:approve",
            "Let a tool call that waits for it run, or deny it.",
        ),
        "interrupt": (
            "control:interrupt",
            "Stop the turn in progress, as Ctrl-C does in a chat; what was said so far is kept.",
        ),
        "compact": (
            "control:compact",
            "Compact now what stands before the newest messages, and show the result.",
        ),
        "close": (
            "control:close",
            "End a conversation after all that was sent; show its last summary.",
        ),
    },
    "Look": {
        "list": ("listing:list_", "List the conversations."),
        "status": (
            "look:status",
            "Show where a conversation stands, and what last went wrong.",
        ),
        "context": (
            "look:context",
            "Show what the model would be sent now, or was sent in a turn.",
        ),
        "diff": (
            "travel:diff",
            "Show what changed between the contexts that were sent in two turns.",
        ),
        "memory": (
            "look:memory",
            "Show the levels of the memory, their ranges and budgets.",
        ),
        "compactions": (
            "past:compactions",
            "Show the last compactions: what became of how much.",
        ),
        "shadow": (
            "shadowing:shadow_",
            "Summarise recorded ranges in another way and compare; by itself this changes nothing.",
        ),
        "show": (
            "past:show_",
            "Show an entry of the memory, what it was made from, and the messages it covers.",
        ),
        "transcript": (
            "past:transcript",
            "Show the messages word for word, compacted or not.",
        ),
        "recall": (
            "recalling:recall",
            "Find what was said, word for word; the status is 1 when there is nothing.",
        ),
        "verify": (
            "verifying:verify",
            "Compare the messages, byte for byte, with the file that they were imported from.",
        ),
        "evaluate": (
            "evaluating:evaluate",
            "Look for the expected answers of queries in the context and in the archive.",
        ),
        "replay": (
            "replaying:replay",
            "Replay the history and compare every context and summary with the recorded ones.",
        ),
        "tools": ("tools:tools", "List the tools that a worker with these settings has."),
    },
    "Move": {
        "fork": (
            "travel:fork",
            "Begin a new conversation from how a turn had left this one, which stays as it is.",
        ),
        "export": (
            "transfer:export",
            "Write a whole conversation, running or closed, as JSON lines.",
        ),
        "restore": (
            "transfer:restore",
            "Make the conversation of an export again, and start it.",
        ),
        "delete": (
            "deleting:delete",
            "Remove a conversation for good, from Temporal and from the archive.",
        ),
    },
    "Run": {
        "demo": (
            "demo:demo",
            "Run a long conversation end to end: no key, no network, about a minute.",
        ),
        "serve": ("serving:serve", "Run the embedded servers and a worker until stopped."),
        "worker": (
            "serving:worker",
            "Run a worker against the Temporal of TEMPORAL_ADDRESS until stopped.",
        ),
    },
}
