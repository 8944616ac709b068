"""Writes the metadata of the Flex Templates from the launchers' own flags, so that none is missing.

    python templates/dataflow/metadata.py

A test fails where the files are not what this writes.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from dxbeam.commands.flags.arguments import count, count_or_none, number, size
from dxbeam.commands.flags.registry import BUILD_VOCABULARY, DECODE, SANITIZE, Command

HERE = Path(__file__).parent
TEMPLATES: dict[str, tuple[Command, str]] = {
    "sanitize": (
        SANITIZE,
        "Releases a text corpus with word-level metric differential privacy: sanitized shards and "
        "release.json, which says what is promised.",
    ),
    "decode": (
        DECODE,
        "Reads a finished release of words together with a public language model, and writes it "
        "again as decoded text. It reads no raw text, and costs no privacy.",
    ),
    "build_vocabulary": (
        BUILD_VOCABULARY,
        "Turns a GloVe, word2vec or fastText file into a vocabulary artifact for dxbeam.",
    ),
}
LOCAL_ONLY = {"config", "local_processes"}
"""Flags that make no sense in a template: it has parameters, and separate workers."""

_PATTERNS: dict[Any, str] = {
    count: "^[0-9]+$",
    count_or_none: "^[0-9]+$",
    size: "^[0-9]+$",
    number: "^[0-9]+(\\.[0-9]*)?([eE][-+]?[0-9]+)?$",
}
_WORKERS = [
    {
        "name": "dataflow_service_options",
        "label": "Dataflow service options",
        "helpText": "Options of the service, such as "
        "worker_accelerator=type:nvidia-l4;count:1;install-nvidia-driver for workers with a GPU, "
        "whose image is built with EXTRAS=fast,gpu.",
        "isOptional": True,
        "regexes": ["^[^ ]+$"],
        "paramType": "TEXT",
    },
    {
        "name": "number_of_worker_harness_threads",
        "label": "Number of worker harness threads",
        "helpText": "Threads of a worker process. Leave at 1: there is a process for each core, "
        "and a search keeps it busy.",
        "isOptional": True,
        "regexes": ["^[0-9]+$"],
        "paramType": "TEXT",
        "defaultValue": "1",
    },
    {
        "name": "sdk_container_image",
        "label": "Sdk container image",
        "helpText": "The image of this template, so that workers hold what the launcher holds.",
        "isOptional": True,
        "regexes": ["^[^ ]+$"],
        "paramType": "TEXT",
    },
]


def metadata(name: str) -> dict[str, Any]:
    """The metadata file of a template."""
    command, description = TEMPLATES[name]
    flags = [action for action in command.flags() if action.dest not in LOCAL_ONLY]
    flags.sort(key=lambda action: action.dest not in command.needed)
    return {
        "name": f"dxbeam {name.replace('_', ' ')}",
        "description": description,
        "streaming": False,
        "parameters": [_parameter(action, action.dest in command.needed) for action in flags]
        + _WORKERS,
    }


def _parameter(action: argparse.Action, needed: bool) -> dict[str, Any]:
    boolean = isinstance(action, argparse._StoreTrueAction)
    choices = action.choices or (["true", "false"] if boolean else None)
    pattern = "^(" + "|".join(choices) + ")$" if choices else _PATTERNS.get(action.type, "^.*$")
    parameter: dict[str, Any] = {
        "name": action.dest,
        "label": action.dest.replace("_", " ").capitalize(),
        "helpText": (action.help or "").replace("%%", "%"),
        "isOptional": not needed,
        "regexes": [pattern],
        "paramType": "ENUM" if choices else "TEXT",
    }
    if choices:
        parameter["enumOptions"] = [{"value": choice, "label": choice} for choice in choices]
    default = "false" if boolean else action.default
    if default not in (None, ""):
        parameter["defaultValue"] = str(default)
    return parameter


def main() -> None:
    """Writes the files."""
    for name in TEMPLATES:
        content = json.dumps(metadata(name), indent=2, ensure_ascii=False) + "\n"
        (HERE / f"{name}_metadata.json").write_text(content, encoding="utf-8")


if __name__ == "__main__":
    main()
