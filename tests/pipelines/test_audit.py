"""The audit from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dxbeam.audit.run_audit import parts
from dxbeam.commands.flags.registry import AUDIT
from dxbeam.commands.options import parse
from dxbeam.errors import ConfigurationError, DxbeamError
from dxbeam.mechanisms import MECHANISMS
from dxbeam.mechanisms.sampling.resampling import RankResampling
from dxbeam.text.decoding.decoder import Decoder
from pipelines.audit import audit, chosen_targets
from tests.support import foreign_pipelines
from tests.support.broken_mechanisms import SanTextDoubled
from tests.support.refusals import refused


def _read(path: Path) -> dict[str, object]:
    made: dict[str, object] = json.loads(path.read_text())
    return made


@pytest.mark.slow
def test_the_report_of_a_program_with_a_worker_says_what_was_tested_and_found(
    tmp_path: Path,
) -> None:
    """Whose worker must be given functions of the launcher, though another package is called so."""
    foreign_pipelines.write(tmp_path)
    workers = ["--direct_running_mode=multi_processing", "--direct_num_workers=1"]
    tests = ["--mechanism=tem", "--epsilon=5", "--samples=small"]
    flags = [*tests, *workers, "--report=audit.json"]
    done = foreign_pipelines.dxbeam(tmp_path, "audit", *flags)
    assert done.returncode == 0, done.stderr
    [entry] = _read(tmp_path / "audit.json")["audits"]  # type: ignore[misc, attr-defined]
    assert entry["name"] == "tem"
    assert entry["configuration"]["mechanism"] == {"name": "tem", "epsilon": 5.0, "beta": 0.001}
    assert (entry["runs"], entry["passed"]) == (1, 1)
    assert entry["tests"] == len(entry["findings"]) > 60
    assert 0 < entry["epsilon_bound"] <= 5
    assert entry["failures"] == []
    assert "| tem | 5 |" in done.stdout
    assert "1 of 1" in done.stdout


def test_rank_resampling_is_part_of_what_is_audited() -> None:
    options = parse(["--mechanism=tem", "--rank_c=0.1", "--report=none"], AUDIT, "")
    [target] = chosen_targets(options)
    assert target.subject.configuration.resampling == RankResampling(0.1)


def test_what_fails_its_claim_ends_with_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(MECHANISMS, "santext", SanTextDoubled)
    with pytest.raises(SystemExit) as ended:
        audit(["--mechanism=santext", "--samples=small", f"--report={tmp_path / 'audit.json'}"])
    assert ended.value.code == 1
    streams = capsys.readouterr()
    assert "not as claimed: santext" in streams.err
    assert "released: distribution for" in streams.out


def test_what_claims_nothing_does_not_fail(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    audit(
        ["--mechanism=truncated_gumbel", "--samples=small", f"--report={tmp_path / 'audit.json'}"]
    )
    assert "| truncated_gumbel | none |" in capsys.readouterr().out


@pytest.mark.slow
def test_weights_of_words_are_audited(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = tmp_path / "audit.json"
    audit(["--mechanism=tem", "--importance=frequency=4", "--samples=small", f"--report={report}"])
    [entry] = _read(report)["audits"]  # type: ignore[misc, attr-defined]
    assert entry["configuration"]["mechanism"]["importance"] == {"kind": "frequency", "largest": 4}
    assert "rho being the public weights" in entry["configuration"]["guarantee"]
    assert 0 < entry["epsilon_bound"] <= 10, "per unit of the distance that weights are part of"
    assert "| tem | 10 |" in capsys.readouterr().out


def test_decoded_documents_are_audited() -> None:
    """As tests/audit/test_decoded.py does."""
    flags = ["--mechanism=santext", "--decode=context", "--decode_loss=distance", "--report=none"]
    [target] = chosen_targets(parse(flags, AUDIT, ""))
    assert target.subject.configuration.decoder == Decoder("context", "distance")
    assert {"decoded", "decoded_samples"} <= {part.name for part in parts(target.subject)}


@pytest.mark.slow
def test_fluent_is_audited_with_a_language_model(tmp_path: Path) -> None:
    report = tmp_path / "audit.json"
    flags = ["--mechanism=fluent", "--language_model=demo", "--samples=small"]
    audit([*flags, f"--report={report}"])
    [entry] = _read(report)["audits"]  # type: ignore[misc, attr-defined]
    assert (entry["passed"], entry["configuration"]["language_model"]["order"]) == (1, 2)
    tests = {found["test"] for found in entry["findings"]}
    assert "sequences: each word given those before it" in tests


def test_base_measures_are_made_for_each_vocabulary(tmp_path: Path) -> None:
    (tmp_path / "q.tsv").write_text("a\t1\nb\t4\n")
    for source, kind in (("optimal", "optimal"), (str(tmp_path / "q.tsv"), "file")):
        flags = ["--mechanism=santext", f"--base={source}", "--base_exponent=0.5", "--report=none"]
        [target] = chosen_targets(parse(flags, AUDIT, ""))
        written = target.subject.fitted.as_dict()["base"]
        assert (written["kind"], written["exponent"]) == (kind, 0.5)


def test_released_vectors_are_attacked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = tmp_path / "audit.json"
    audit(["--mechanism=released_vectors", "--samples=small", "--runs=2", f"--report={report}"])
    [entry] = _read(report)["audits"]  # type: ignore[misc, attr-defined]
    assert (entry["runs"], entry["passed"]) == (2, 2)
    assert "2 of 2" in capsys.readouterr().out
    says = [found["says"] for found in entry["findings"] if "ruled out" in found["test"]]
    assert says == ["of 2,000 words 2,000 are left (median), 2,000 or more"]


@refused(
    """
    --mechanism=gauss                                     there is no such mechanism
    --mechanism=all --epsilon=5                           name one mechanism
    --mechanism=all --importance=frequency                name one mechanism
    --mechanism=all --decode=context                      name one mechanism
    --mechanism=released_vectors --decode=context         replaces none
    --mechanism=truncated_gumbel --decode=prior           no known density or channel
    --mechanism=laplace --decode_loss=word                prior or context only
    --mechanism=laplace --importance=frequency            no finite bound
    --mechanism=custext --importance=frequency            santext or tem, not with custext
    --mechanism=released_vectors --importance=frequency   replaces none
    --mechanism=santext --importance=stop_words=5         the audit makes up its words
    --mechanism=santext --importance=taken.json           the audit makes up its words
    --mechanism=santext --importance=frequency=101        from 0 to 100
    --mechanism=santext --parameters=importance=2         a separate flag
    --mechanism=all --base=frequency                      name one mechanism
    --mechanism=laplace --base=frequency                  santext or tem
    --mechanism=laplace --base=optimal                    santext or tem
    --mechanism=released_vectors --base=optimal           replaces none
    --mechanism=santext --base=missing.tsv                cannot be read
    --mechanism=santext --base=optimal --base_exponent=9  up to 4
    --mechanism=santext --language_model=demo             with `mechanism` fluent
    --mechanism=all --language_model=demo                 name one mechanism
    --mechanism=fluent --language_model=missing           missing
    --mechanism=santext --base_exponent=0.5               only of use with --base
    --mechanism=all --constant=exact                      name one mechanism
    --mechanism=fluent --constant=exact                   santext or tem, not with fluent
    --mechanism=santext_plus --constant=exact             santext or tem, not with santext_plus
    --mechanism=santext --constant=exact --decode=prior   leave one of them out
    --mechanism=released_vectors --constant=exact         replaces none
    --samples=huge                                        --samples is standard or small
    --runs=0                                              is not a whole number from 1
    --mechanism=trlaplace_published --epsilon=3           undefined from epsilon
    --ledger=x                                            unknown flag
    --report=taken.json                                   is there already
    """
)
def test_what_cannot_be_audited_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, flags: list[str], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "taken.json").touch()
    with pytest.raises((ConfigurationError, DxbeamError), match=said):
        audit(flags)


def test_without_a_name_every_audit_has_a_report_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("audit.json", "audit-2.json", "audit-3.json"):
        audit(["--mechanism=tem", "--epsilon=5", "--dry_run"])
        assert f"and write {name} (--dry_run)" in capsys.readouterr().out
        (tmp_path / name).touch()
