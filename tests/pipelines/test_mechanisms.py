"""Every mechanism from the command line: what is refused, and what the manifest says of it."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from dxbeam.documents import Document
from dxbeam.errors import ConfigurationError
from dxbeam.mechanisms import MECHANISMS, make_mechanism
from dxbeam.mechanisms.sampling.resampling import RankResampling
from dxbeam.mechanisms.santext import SanText
from dxbeam.release import manifest
from dxbeam.release.verification.verify import verify_release
from dxbeam.space.artifact import artifact
from dxbeam.text.configuration import Configuration
from dxbeam.text.public.importance_file import read_importance
from dxbeam.text.sanitizer import Sanitizer
from tests.support import tiny

FLAGS = {"trlaplace_published": ("--epsilon=0.3", "--parameters=delta=0.4,clip=1")}
UNSOUND = {
    "custext_published",
    "mahalanobis_published",
    "santext_plus",
    "scaled_noise_published",
    "tem_published",
    "trlaplace_published",
    "truncated_gumbel",
}
TEXTS = tiny.texts(12)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("corpus") / "in.jsonl"
    return tiny.write_jsonl(path, [{"id": f"d{i}", "text": text} for i, text in enumerate(TEXTS)])


@pytest.mark.parametrize("name", sorted(set(MECHANISMS) - {"fluent"}))  # test_fluent.py
def test_the_job_releases_what_the_sanitizer_does(
    uri: str, corpus: Path, tmp_path: Path, name: str
) -> None:
    (tmp_path / "key").write_text(tiny.KEY.hex())
    flags = [*FLAGS.get(name, ()), f"--mechanism={name}", "--rank_c=0.05"]
    if name in UNSOUND:
        flags.append("--allow_unsound")
    release = tiny.run(uri, corpus, tmp_path / "out", f"--key_uri={tmp_path / 'key'}", *flags)
    manifest.verify(str(tmp_path / "out"))
    parameters = dict(release["configuration"]["mechanism"])
    assert parameters.pop("name") == name
    mechanism = make_mechanism(name, **parameters)
    sanitizer = Sanitizer(
        artifact.open_vocabulary(artifact.handle(uri)),
        Configuration(mechanism, RankResampling(0.05), allow_unsound=True),
        tiny.KEY,
    )
    expected = {}
    for result in sanitizer.sanitize(Document(f"d{i}", text) for i, text in enumerate(TEXTS)):
        assert result.document
        expected[result.document.id] = result.document.text
    assert tiny.released(tmp_path / "out") == expected
    assert release["guarantee"]["sentence"] == mechanism.guarantee().sentence
    assert set(mechanism.guarantee().unprotected) <= set(release["unprotected"])
    reading = mechanism.guarantee().euclidean_epsilon
    assert bool(release["in_context"]) == (reading is not None)


@pytest.mark.parametrize("name", sorted(UNSOUND))
def test_what_does_not_protect_every_word_is_refused(
    uri: str, corpus: Path, tmp_path: Path, name: str
) -> None:
    promise = make_mechanism(name, epsilon=0.3).guarantee()
    assert not promise.sound or promise.unprotected
    with pytest.raises(ConfigurationError, match="add --allow_unsound to run it anyway"):
        tiny.run(uri, corpus, tmp_path / "out", f"--mechanism={name}", *FLAGS.get(name, ()))
    assert not (tmp_path / "out").exists()
    others = [made for made in MECHANISMS if made not in UNSOUND]
    for other in others:
        stated = make_mechanism(other, epsilon=0.3).guarantee()
        assert stated.sound
        assert not stated.unprotected


def test_the_job_gives_words_the_weights_of_a_file(uri: str, corpus: Path, tmp_path: Path) -> None:
    (tmp_path / "key").write_text(tiny.KEY.hex())
    file = tmp_path / "weights.tsv"
    file.write_text("".join(f"w{i}\t9\n" for i in range(150)))
    flags = [f"--key_uri={tmp_path / 'key'}", "--mechanism=santext", f"--importance={file}"]
    release = tiny.run(uri, corpus, tmp_path / "out", *flags)
    weights = read_importance(str(file))
    sanitizer = Sanitizer(
        artifact.open_vocabulary(artifact.handle(uri)),
        SanText(release["configuration"]["mechanism"]["epsilon"], importance=weights),
        tiny.KEY,
    )
    documents = [Document(f"d{i}", text) for i, text in enumerate(TEXTS)]
    expected = [result.document for result in sanitizer.sanitize(documents)]  # type: ignore[union-attr]
    assert tiny.released(tmp_path / "out") == {made.id: made.text for made in expected}
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    assert release["importance_file"] == {"name": "weights.tsv", "sha256": digest}
    assert release["configuration"]["mechanism"]["importance"]["words"] == 150
    assert any("private corpus void" in caveat for caveat in release["guarantee"]["caveats"])
    assert verify_release(str(tmp_path / "out")).manifest == release


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--mechanism=laplace", "--importance=frequency"], "no finite bound"),
        (["--mechanism=santext", "--importance={tmp}/none"], "cannot be read"),
        (["--mechanism=santext", "--importance=stop_words"], "is in the vocabulary"),
        (["--mechanism=santext", "--parameters=importance=2"], "a separate flag"),
        (["--mechanism=santext", "--importance=frequency=101"], "from 0 to 100"),
    ],
)
def test_weights_that_cannot_be_used_are_refused_before_work_starts(
    uri: str, corpus: Path, tmp_path: Path, flags: list[str], said: str
) -> None:
    flags = [flag.format(tmp=tmp_path) for flag in flags]
    with pytest.raises(ConfigurationError, match=said):
        tiny.run(uri, corpus, tmp_path / "out", *flags)
    assert not (tmp_path / "out").exists()


def test_a_calibration_that_is_undefined_is_refused_before_work_starts(
    uri: str, corpus: Path, tmp_path: Path
) -> None:
    with pytest.raises(ConfigurationError, match="undefined from epsilon"):
        tiny.run(
            uri, corpus, tmp_path / "out", "--mechanism=trlaplace_published", "--allow_unsound",
            "--epsilon=3",
        )  # fmt: skip
    assert not (tmp_path / "out").exists()


def test_a_parameter_that_a_mechanism_does_not_have_is_refused(
    uri: str, corpus: Path, tmp_path: Path
) -> None:
    with pytest.raises(ConfigurationError, match="santext has no parameter delta"):
        tiny.run(uri, corpus, tmp_path / "out", "--mechanism=santext", "--parameters=delta=0.1")
