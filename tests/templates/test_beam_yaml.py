"""The transforms in Beam YAML give what the launchers give."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dxbeam.space.artifact import artifact
from dxbeam.transforms.metrics import NOT_COVERED
from tests.support import tiny

TEMPLATES = Path(__file__).parent.parent.parent / "templates" / "beam_yaml"
RECORDS = [{"id": f"d{i}", "text": text or "w1"} for i, text in enumerate(tiny.texts(9))]

main = pytest.importorskip(
    "apache_beam.yaml.main", reason="the extra 'yaml' of apache-beam is not installed"
)


def _run(pipeline: Path, **variables: Any) -> None:
    """As ``python -m apache_beam.yaml.main``."""
    main.run(
        [
            f"--yaml_pipeline_file={pipeline}",
            "--runner=FnApiRunner",
            f"--jinja_variables={json.dumps(variables)}",
        ]
    )


def _rows(folder: Path, name: str) -> list[dict[str, Any]]:
    files = [path for path in folder.glob(f"{name}/part*") if path.is_file()]
    lines = [line for path in files for line in path.open() if line.strip()]
    return [json.loads(line) for line in lines]


def test_documents_are_those_of_the_launcher(tmp_path: Path) -> None:
    uri = tiny.write_artifact(tmp_path / "vocabulary")
    corpus = tiny.write_jsonl(tmp_path / "corpus.jsonl", RECORDS)
    (tmp_path / "key").write_text(tiny.KEY.hex())
    key = str(tmp_path / "key")
    _run(
        TEMPLATES / "sanitize.yaml",
        input=str(corpus), output=str(tmp_path / "yaml"), vocabulary=uri, key_uri=key,
        metrics_output=str(tmp_path / "apart"),
    )  # fmt: skip
    release = tiny.run(
        uri, corpus, tmp_path / "out", "--epsilon=10", "--rank_c=0.02", f"--key_uri={key}"
    )
    rows = _rows(tmp_path / "yaml", "documents")
    assert {row["id"]: row["text"] for row in rows} == tiny.released(tmp_path / "out")

    # What is computed from the raw text is elsewhere: one row, which says what it is.
    written = [path for path in (tmp_path / "yaml").rglob("*") if path.is_file()]
    assert written
    assert all(path.parent == tmp_path / "yaml" / "documents" for path in written)
    [counts] = _rows(tmp_path / "apart", "metrics")
    assert counts["tokens"] == release["tokens"]
    assert counts["documents"] == len(RECORDS)
    assert counts["note"] == NOT_COVERED
    assert _rows(tmp_path / "apart", "rejected") == []


def test_settings_that_do_not_protect_every_word_need_consent(tmp_path: Path) -> None:
    corpus = tiny.write_jsonl(tmp_path / "corpus.jsonl", [{"id": "d", "text": "w1 strange"}])
    uri = tiny.write_artifact(tmp_path / "vocabulary")
    template = (TEMPLATES / "sanitize.yaml").read_text()
    template = template.replace("include: providers", f"include: {TEMPLATES}/providers")
    variables = {"input": str(corpus), "vocabulary": uri, "metrics_output": str(tmp_path / "apart")}
    for name, lines in (("refused", ""), ("allowed", "\n        allow_unsound: true")):
        pipeline = tmp_path / f"{name}.yaml"
        keeping = f"rank_c: 0.02\n        unknown_words: keep{lines}"
        pipeline.write_text(template.replace("rank_c: 0.02", keeping))
        variables["output"] = str(tmp_path / name)
        if name == "refused":
            with pytest.raises(Exception, match="`unknown_words` keep: nothing is promised"):
                _run(pipeline, **variables)
            assert not (tmp_path / name).exists()
        else:
            _run(pipeline, **variables)
            [row] = _rows(tmp_path / name, "documents")
            assert row["text"].endswith("strange")


def test_a_vocabulary_is_built(tmp_path: Path) -> None:
    words = tiny.vocabulary(50, 4)
    tiny.write_glove(tmp_path / "glove.txt", words)
    pipeline = tmp_path / "build.yaml"
    pipeline.write_text(
        f"""
pipeline:
  transforms:
    - type: BuildVocabulary
      name: Build
      input: {{}}
      config: {{embeddings: "{tmp_path}/glove.txt", output: "{tmp_path}/built", neighbors: 10}}
providers:
  - include: {TEMPLATES}/providers.yaml
"""
    )
    _run(pipeline)
    opened = artifact.open_vocabulary(artifact.handle(str(tmp_path / "built")))
    assert list(opened.words) == list(words.words)
    assert np.array_equal(opened.vectors, words.vectors)


def test_rejected_records_go_where_error_handling_says(tmp_path: Path) -> None:
    """As with Beam's own transforms, the next one takes the others without naming an output."""
    uri = tiny.write_artifact(tmp_path / "vocabulary")
    records = [{"id": "good", "text": "w1"}, {"id": "bad", "text": "zyzzogeton\0"}]
    corpus = tiny.write_jsonl(tmp_path / "corpus.jsonl", records)
    pipeline = tmp_path / "sanitize.yaml"
    pipeline.write_text(
        f"""
pipeline:
  transforms:
    - type: ReadFromJson
      config: {{path: "{corpus}", lines: true}}
    - type: SanitizeRows
      input: ReadFromJson
      config: {{vocabulary: "{uri}", epsilon: 5, error_handling: {{output: errors}}}}
    - type: WriteToJson
      input: SanitizeRows
      config: {{path: "{tmp_path}/documents/part.jsonl"}}
    - type: WriteToJson
      name: WriteErrors
      input: SanitizeRows.errors
      config: {{path: "{tmp_path}/errors/part.jsonl"}}
providers:
  - include: {TEMPLATES}/providers.yaml
"""
    )
    _run(pipeline)
    assert [row["id"] for row in _rows(tmp_path, "documents")] == ["good"]
    [error] = _rows(tmp_path, "errors")
    assert error == {"where": "bad", "reason": error["reason"]}
    assert "zyzzogeton" not in str(error)
