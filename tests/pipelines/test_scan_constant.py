"""dxbeam scan-constant, and a release with what it wrote."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dxbeam.errors import ConfigurationError, OutputError
from dxbeam.mechanisms.constants.solve import solve
from dxbeam.mechanisms.santext import SanText
from dxbeam.release.verification.verify import verify_release
from dxbeam.text.public.constant_file import StoppedScans
from pipelines.sanitize import sanitize
from pipelines.scan_constant import scan_constant
from tests.support import tiny


@pytest.fixture
def vocabulary(tmp_path: Path) -> str:
    return tiny.write_artifact(tmp_path / "voc", tiny.vocabulary(60, 4))


def _release(vocabulary: str, output: Path, *flags: str) -> dict[str, object]:
    corpus = output.parent / "corpus.jsonl"
    corpus.write_text(json.dumps({"id": "1", "text": "word1 word2 strange"}) + "\n")
    sanitize(
        [
            f"--input={corpus}",
            f"--vocabulary={vocabulary}",
            f"--output={output}",
            "--mechanism=santext",
            *flags,
        ]
    )
    release: dict[str, object] = json.loads((output / "release.json").read_text())
    return release


def test_a_release_names_both_epsilons_and_is_verified(
    vocabulary: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scan = tmp_path / "scan.json"
    flags = [f"--vocabulary={vocabulary}", "--base=frequency", "--base_exponent=0.5"]
    assert scan_constant([*flags, "--epsilon=1,2", f"--output={scan}"]) == 0
    assert scan_constant([*flags, "--epsilon=1", f"--output={scan}"]) == 0
    assert "in " in capsys.readouterr().out
    levels = json.loads(scan.read_text())["levels"]
    assert [level["epsilon"] for level in levels] == [1.0, 2.0]
    assert not Path(f"{scan}.unfinished").exists()
    exact = ("--epsilon=2", "--constant=exact", f"--constant_scan={scan}")
    release = _release(
        vocabulary, tmp_path / "out", "--base=frequency", "--base_exponent=0.5", *exact
    )
    recorded = release["configuration"]["mechanism"]  # type: ignore[index]
    assert recorded["epsilon"] == release["guarantee"]["epsilon"] == 2.0  # type: ignore[index]
    assert recorded["constant"]["nominal_epsilon"]["2.0"] == levels[1]["nominal_epsilon"]
    assert recorded["base"] == {"kind": "frequency", "exponent": 0.5}
    unchecked = verify_release(str(tmp_path / "out")).unchecked
    assert not any("guarantee follows" in sentence for sentence in unchecked)
    with pytest.raises(ConfigurationError, match="other parameters, base measure or weights"):
        _release(vocabulary, tmp_path / "no", *exact)
    other = tiny.write_artifact(tmp_path / "other", tiny.vocabulary(60, 4, seed=1))
    with pytest.raises(ConfigurationError, match="of another vocabulary"):
        _release(other, tmp_path / "no", "--base=frequency", "--base_exponent=0.5", *exact)
    assert not (tmp_path / "no").exists()


def test_what_nominal_epsilons_guarantee_is_said(
    vocabulary: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert scan_constant([f"--vocabulary={vocabulary}", "--nominal_epsilon=2"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("nominal epsilon 2 guarantees 1.")


def test_a_metric_of_its_own_is_compared_with_the_euclidean_one(
    vocabulary: str, capsys: pytest.CaptureFixture[str]
) -> None:
    flags = [f"--vocabulary={vocabulary}", "--mechanism=mahalanobis", "--nominal_epsilon=2,4"]
    assert scan_constant(flags) == 0
    said = capsys.readouterr().out.splitlines()
    assert len(said) == 2
    assert "per unit of Euclidean distance" in said[0]


def test_a_stopped_scan_goes_on_and_finds_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stopped at each write in turn; what is kept of other settings is of no use."""
    words, made = tiny.vocabulary(1500, 4), SanText(2.0)
    expected = solve(made, words)
    path, write, writes = tmp_path / "scan.unfinished", StoppedScans._write, 0

    def stopping(self: StoppedScans, arrays: dict[str, object]) -> None:
        nonlocal writes
        write(self, arrays)
        writes += 1
        raise InterruptedError

    monkeypatch.setattr(StoppedScans, "_write", stopping)
    for _ in range(100):
        stopped = StoppedScans(str(path), {"epsilon": 2.0}, seconds=0.0)
        assert stopped.goes_on == (writes > 0)
        try:
            found = solve(made, words, scanned_by=stopped.scanned_by)
        except InterruptedError:
            continue
        break
    assert writes > 2 * expected.scans
    assert found == expected
    assert not StoppedScans(str(path), {"epsilon": 3.0}).goes_on
    path.write_bytes(path.read_bytes()[:-100])
    assert not StoppedScans(str(path), {"epsilon": 2.0}).goes_on
    stopped.delete()
    assert not path.exists()


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--epsilon=2"], "--output is needed"),
        ([], "give --epsilon"),
        (["--epsilon=two", "--output=x"], "no list of numbers"),
        (["--nominal_epsilon=2", "--mechanism=laplace"], "has no constant to scan for"),
        (["--nominal_epsilon=2", "--mechanism=fluent"], "Z depends on the words released before"),
    ],
)
def test_mistakes_are_named_before_anything_is_scanned(
    vocabulary: str, flags: list[str], message: str
) -> None:
    with pytest.raises(ConfigurationError, match=message):
        scan_constant([f"--vocabulary={vocabulary}", *flags])


def test_a_file_of_other_settings_is_left_as_it_is(vocabulary: str, tmp_path: Path) -> None:
    scan = str(tmp_path / "scan.json")
    scan_constant([f"--vocabulary={vocabulary}", "--epsilon=1", f"--output={scan}"])
    before = Path(scan).read_bytes()
    with pytest.raises(OutputError, match="other settings"):
        scan_constant(
            [f"--vocabulary={vocabulary}", "--epsilon=1", f"--output={scan}", "--base=frequency"]
        )
    assert Path(scan).read_bytes() == before
