"""Deployments and schedules: they parse, fit one another, and their command lines are right."""

from __future__ import annotations

import ast
import json
import shlex
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
import yaml

from dxbeam.commands.flags.registry import SANITIZE
from dxbeam.commands.options import parse
from pipelines.sanitize import sanitize
from tests.support import tiny

TEMPLATES = Path(__file__).parent.parent.parent / "templates"
BEAM = metadata.version("apache-beam")


def _yaml(name: str) -> Any:
    return yaml.safe_load((TEMPLATES / name).read_text())


def _kubernetes_flags() -> list[str]:
    [container] = _yaml("kubernetes/nightly.yaml")["spec"]["jobTemplate"]["spec"]["template"][
        "spec"
    ]["containers"]
    [script] = container["args"]
    assert container["command"] == ["/bin/sh", "-ec"]
    words = shlex.split(script.replace("\\\n", " "))
    start = words.index("sanitize") + 1
    assert words[:start][-3:] == ["exec", "dxbeam", "sanitize"]
    return [word.replace("$day", "2026-01-31") for word in words[start:]]


def _airflow() -> ast.Module:
    return ast.parse((TEMPLATES / "airflow" / "dxbeam_nightly.py").read_text())


def _airflow_flags() -> list[str]:
    """The constants and FLAGS of the DAG, without Airflow."""
    kept = [
        node
        for node in _airflow().body
        if isinstance(node, ast.Assign)
        or (isinstance(node, ast.ImportFrom) and node.module == "__future__")
    ]
    names: dict[str, Any] = {}
    exec(compile(ast.Module(kept, []), "dxbeam_nightly", "exec"), names)
    return [f"--{name}={value}" for name, value in names["FLAGS"].items()]


def _scheduler_flags() -> list[str]:
    body = json.loads((TEMPLATES / "scheduler" / "launch.json").read_text())
    return [f"--{n}={v}" for n, v in body["launchParameter"]["parameters"].items()]


def _workflow_flags() -> list[str]:
    steps = _yaml("scheduler/workflow.yaml")["main"]["steps"]
    parameters = steps[0]["names"]["assign"][1]["parameters"]
    return [f"--{name}={value}" for name, value in parameters.items()]


@pytest.mark.parametrize(
    "flags", [_kubernetes_flags, _airflow_flags, _scheduler_flags, _workflow_flags]
)
def test_the_command_line_is_the_launchers(flags: Any, tmp_path: Path) -> None:
    given = flags()
    parse(given, SANITIZE, "")
    names = {flag.split("=")[0] for flag in given}
    assert {"--input", "--vocabulary", "--epsilon", "--key_uri", "--output", "--ledger"} <= names
    corpus = tiny.write_jsonl(tmp_path / "corpus.jsonl", [{"id": "a", "text": "w1 w2"}])
    (tmp_path / "key").write_text(tiny.KEY.hex())
    here = {
        "--input": corpus,
        "--vocabulary": tiny.write_artifact(tmp_path / "vocabulary"),
        "--key_uri": tmp_path / "key",
        "--output": tmp_path / "out",
        "--ledger": tmp_path / "ledger",
    }
    elsewhere = ("--runner", "--flink", "--environment", "--parallelism", "--sdk", "--number")
    local = [flag for flag in given if not flag.startswith((*elsewhere, *here))]
    sanitize([*local, *(f"{name}={value}" for name, value in here.items())])
    assert (tmp_path / "out" / "release.json").exists()


def test_the_cluster_and_what_starts_a_job_on_it_fit() -> None:
    cluster = _yaml("kubernetes/flink.yaml")["spec"]
    flags = dict(flag.split("=", 1) for flag in _kubernetes_flags())
    slots = int(cluster["flinkConfiguration"]["taskmanager.numberOfTaskSlots"])
    assert int(flags["--parallelism"]) == slots * cluster["taskManager"]["replicas"]
    [pool] = cluster["taskManager"]["podTemplate"]["spec"]["containers"]
    [port] = [a.split("=")[1] for a in pool["args"] if a.startswith("--service_port")]
    assert flags["--environment_config"] == f"localhost:{port}"
    assert cluster["flinkVersion"] == "v" + flags["--flink_version"].replace(".", "_")
    assert cluster["image"].startswith(f"flink:{flags['--flink_version']}-")
    image = (TEMPLATES / "kubernetes" / "workers.Dockerfile").read_text()
    assert f"_sdk:{BEAM}" in image
    assert f"beam-runners-flink-{flags['--flink_version']}-job-server/{BEAM}/" in image
    assert flags["--flink_job_server_jar"] in image
    assert flags["--flink_master"] == "dxbeam-flink-rest:8081"
    policy = _yaml("kubernetes/network-policy.yaml")["spec"]
    [ports] = policy["ingress"][0]["ports"]
    assert not ports["port"] <= int(port) <= ports["endPort"], "the pool stays closed"


def test_the_patch_gives_the_worker_pool_a_gpu_and_nothing_else() -> None:
    plain, patched = _yaml("kubernetes/flink.yaml"), _yaml("kubernetes/flink.yaml")
    for change in _yaml("kubernetes/gpu-workers.yaml"):
        assert change["op"] == "add"
        *path, last = change["path"].split("/")[1:]
        place = patched
        for name in path:
            place = place[int(name)] if isinstance(place, list) else place[name]
        assert last not in place
        place[last] = change["value"]
    pods = [it["spec"]["taskManager"]["podTemplate"]["spec"] for it in (plain, patched)]
    assert pods[1].pop("tolerations")[0]["key"] == "nvidia.com/gpu"
    [pool] = pods[1]["containers"]
    assert pool["resources"].pop("limits") == {"nvidia.com/gpu": 1}
    assert patched == plain


@pytest.mark.parametrize(
    ("image", "default"),
    [("dataflow/Dockerfile", "fast,bigquery"), ("kubernetes/workers.Dockerfile", "fast")],
)
def test_images_hold_the_extras_that_their_comments_name(image: str, default: str) -> None:
    text, installed = (TEMPLATES / image).read_text(), 'pip install --no-cache-dir ".[$EXTRAS]"'
    assert text.index(f"ARG EXTRAS={default}\n") < text.index(installed)
    assert "fast,gpu" in text
    extras = (TEMPLATES.parent / "pyproject.toml").read_text().splitlines()
    assert all(
        any(line.startswith(f"{it} = [") for line in extras) for it in ("fast", "gpu", "bigquery")
    )


def test_no_template_holds_a_key_and_none_writes_over_a_release() -> None:
    for flags in (_kubernetes_flags(), _airflow_flags(), _scheduler_flags(), _workflow_flags()):
        given = dict(flag.split("=", 1) for flag in flags)
        assert given["--key_uri"].startswith("gs://")
        assert any(day in given["--output"] for day in ("2026-01-31", "{{ ds }}", "DAY", "day"))


def test_the_dag_is_what_airflow_expects() -> None:
    calls = {
        node.func.id: {word.arg for word in node.keywords}
        for node in ast.walk(_airflow())
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    assert {"dag_id", "schedule", "start_date", "catchup", "max_active_runs"} <= calls["DAG"]
    assert {"task_id", "body", "location"} <= calls["DataflowStartFlexTemplateOperator"]
    assert {"task_id", "py_file", "runner"} <= calls["BeamRunPythonPipelineOperator"]
