"""Flex Templates: every flag with help and a pattern, an image of the right Beam."""

from __future__ import annotations

import json
import re
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from tests.support import calls

ROOT = Path(__file__).parent.parent.parent
FOLDER = ROOT / "templates" / "dataflow"
FIELDS = {
    "name", "label", "helpText", "isOptional", "regexes", "paramType", "defaultValue",
    "enumOptions", "groupName", "parentName", "parentTriggerValues",
}  # fmt: skip


def _written() -> Any:
    return calls.module_at(FOLDER / "metadata.py")


@pytest.mark.parametrize("name", ["sanitize", "decode", "build_vocabulary"])
def test_the_metadata_is_what_the_flags_are(name: str) -> None:
    content = json.loads((FOLDER / f"{name}_metadata.json").read_text("utf-8"))
    assert content == _written().metadata(name), "run templates/dataflow/metadata.py"
    assert set(content) == {"name", "description", "streaming", "parameters"}
    names = [parameter["name"] for parameter in content["parameters"]]
    assert len(names) == len(set(names))
    for parameter in content["parameters"]:
        assert set(parameter) <= FIELDS
        assert {"name", "label", "helpText", "isOptional", "regexes", "paramType"} <= set(parameter)
        assert len(parameter["helpText"]) > 10
        assert parameter["paramType"] in ("TEXT", "ENUM")
        for pattern in parameter["regexes"]:
            if "defaultValue" in parameter:
                assert re.match(pattern, parameter["defaultValue"]), parameter["name"]


def test_the_image_holds_what_the_package_needs() -> None:
    text = (FOLDER / "Dockerfile").read_text()
    assert f"_sdk:{metadata.version('apache-beam')}" in text
    copied = {
        word for line in text.splitlines() if line.startswith("COPY ") for word in line.split()
    }
    assert {"pyproject.toml", "setup.py", "dxbeam", "pipelines"} <= copied
    for name in copied & {path.name for path in ROOT.iterdir()}:
        assert (ROOT / name).exists()
