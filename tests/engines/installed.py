"""The engines, fetched once by their ordinary clients and kept in a cache folder.

Maven fetches Beam's job servers for Flink and Spark with all they need; Go builds Prism. Where a
client or an engine cannot be had, ``Unavailable`` says why.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "dxbeam-engines"

BEAM = "2.77.0"
"""The release of Beam whose Python half dxbeam runs on."""

_PRISM = f"github.com/apache/beam/sdks/v2/go/cmd/prism@v{BEAM}"
_COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies"
_LOGGER = "org.slf4j:slf4j-simple:1.7.36"
_EXCLUDED = (
    "<exclusions><exclusion><groupId>io.confluent</groupId><artifactId>*</artifactId></exclusion>"
    "</exclusions>"
)
"""A schema registry's client, which is in another repository and which nothing here uses."""
_SECONDS = 600

OPENED = tuple(
    f"java.base/{package}"
    for package in (
        "java.io java.lang java.lang.invoke java.net java.nio java.time java.util "
        "java.util.concurrent java.util.concurrent.atomic sun.nio.ch sun.nio.cs "
        "sun.security.action sun.util.calendar"
    ).split()
)
"""What Flink and Spark reach into since Java 17 keeps its insides to itself."""


LOGGED = "-Dorg.slf4j.simpleLogger.showDateTime=true -Dorg.slf4j.simpleLogger.showThreadName=false"
"""Settings of Java that put the time into logs."""


class Unavailable(Exception):  # noqa: N818
    """Why an engine cannot be had on this machine."""


@dataclass(frozen=True)
class JobServer:
    """A job server of Beam's.

    Attributes:
      name: of its folder.
      main: the class that starts it.
      candidates: sets of Maven coordinates, the best first. The others are for machines whose
        Maven repository lacks the newest; the protocol between Beam's halves is stable.
    """

    name: str
    main: str
    candidates: tuple[tuple[str, ...], ...]


FLINK = JobServer(
    "flink",
    "org.apache.beam.runners.flink.FlinkJobServerDriver",
    (
        (f"org.apache.beam:beam-runners-flink-1.20:{BEAM}", _LOGGER),
        ("org.apache.beam:beam-runners-flink-1.19:2.62.0", _LOGGER),
    ),
)
_SPARK_ITSELF = (
    "org.apache.spark:spark-streaming_2.12:3.5.7",
    "org.apache.spark:spark-sql_2.12:3.5.7",
)
SPARK = JobServer(
    "spark",
    "org.apache.beam.runners.spark.SparkJobServerDriver",
    (
        (f"org.apache.beam:beam-runners-spark-3:{BEAM}", *_SPARK_ITSELF),
        ("org.apache.beam:beam-runners-spark-3:2.62.0", *_SPARK_ITSELF),
    ),
)
_KAFKA_CLIENT = "org.apache.kafka:kafka-clients:3.9.1"
_MEASURE = "com.github.jbellis:jamm:0.4.0"  # the harness of Java asks for it and does not bring it
FLINK_KAFKA = JobServer(
    "flink-kafka",
    FLINK.main,
    tuple(
        (
            runner,
            f"org.apache.beam:beam-sdks-java-io-kafka:{version}",
            _KAFKA_CLIENT,
            _MEASURE,
            _LOGGER,
        )
        for runner, version in (
            (f"org.apache.beam:beam-runners-flink-1.20:{BEAM}", BEAM),
            ("org.apache.beam:beam-runners-flink-1.19:2.62.0", "2.62.0"),
        )
    ),
)
"""Flink, and what its processes need to read and write Kafka themselves."""
KAFKA = JobServer("kafka", "kafka.Kafka", (("org.apache.kafka:kafka_2.13:3.9.1", _LOGGER),))
"""A broker."""


def job_server(server: JobServer) -> Path:
    """A jar that ``java -jar`` starts: a job server, with its libraries in a folder next to it.

    Raises:
      Unavailable: no Java, no Maven, or Maven cannot fetch it.
    """
    for program, flag in (("java", "-version"), ("mvn", "-version")):
        if not _answers(program, flag):
            raise Unavailable(f"{server.name} needs {program}, which does not run here")
    reasons = []
    for coordinates in server.candidates:
        folder = _folder(server, coordinates)
        jar = folder / f"{server.name}.jar"
        if jar.exists():
            return jar
    for coordinates in server.candidates:
        try:
            return _fetch(server, coordinates)
        except Unavailable as reason:
            reasons.append(str(reason))
    raise Unavailable("; ".join(reasons))


def _folder(server: JobServer, coordinates: tuple[str, ...]) -> Path:
    name = coordinates[0].replace(":", "-")
    return CACHE / (f"{name}-kafka" if server is FLINK_KAFKA else name)


def versions(jar: Path) -> str:
    """Which runner a job server's jar is, as its Maven coordinates name it."""
    return jar.parent.name.removeprefix("org.apache.beam-")


def prism() -> Path:
    """The Prism binary.

    Raises:
      Unavailable: no Go, or Go cannot build it.
    """
    binary = CACHE / f"prism-{BEAM}" / "prism"
    if binary.exists():
        return binary
    if not _answers("go", "version"):
        raise Unavailable("prism needs go, which does not run here")
    with _new_folder(binary.parent) as folder:
        _call(["go", "install", _PRISM], GOBIN=folder)
    return binary


def _fetch(server: JobServer, coordinates: tuple[str, ...]) -> Path:
    target = _folder(server, coordinates)
    with _new_folder(target) as folder:
        (Path(folder) / "pom.xml").write_text(_pom(server.name, coordinates))
        output = f"-DoutputDirectory={folder}/lib"
        _call(["mvn", "-B", "-q", "-f", folder, _COPY, "-DincludeScope=runtime", output])
        _write_starter(Path(folder), server)
    return target / f"{server.name}.jar"


def _pom(name: str, coordinates: tuple[str, ...]) -> str:
    dependencies = "".join(
        f"<dependency><groupId>{group}</groupId><artifactId>{artifact}</artifactId>"
        f"<version>{version}</version>{_EXCLUDED}</dependency>"
        for group, artifact, version in (one.split(":") for one in coordinates)
    )
    return (
        '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
        f"<groupId>dxbeam.tests</groupId><artifactId>{name}</artifactId><version>1</version>"
        f"<packaging>pom</packaging><dependencies>{dependencies}</dependencies></project>\n"
    )


def _write_starter(folder: Path, server: JobServer) -> None:
    """A jar that holds nothing but the names of the others, so that one path names them all."""
    libraries = " ".join(sorted(f"lib/{jar.name}" for jar in (folder / "lib").glob("*.jar")))
    lines = (
        "Manifest-Version: 1.0",
        f"Main-Class: {server.main}",
        f"Add-Opens: {' '.join(OPENED)}",
        f"Class-Path: {libraries}",
    )
    with zipfile.ZipFile(folder / f"{server.name}.jar", "w") as jar:
        jar.writestr("META-INF/MANIFEST.MF", "\r\n".join(map(_folded, lines)) + "\r\n\r\n")


def _folded(line: str) -> str:
    """A line of a jar's manifest, which may be 72 bytes long and goes on after a space."""
    rest = [line[start : start + 70] for start in range(70, len(line), 70)]
    return "\r\n ".join([line[:70], *rest])


class _new_folder(tempfile.TemporaryDirectory):  # type: ignore[type-arg]  # noqa: N801
    """A folder that appears at its place only when its content is whole."""

    def __init__(self, place: Path):
        CACHE.mkdir(parents=True, exist_ok=True)
        super().__init__(dir=CACHE)
        self._place = place

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        if kind is None and not self._place.exists():
            shutil.copytree(self.name, f"{self.name}-whole")
            try:
                Path(f"{self.name}-whole").rename(self._place)
            except OSError:
                if not self._place.exists():  # else another process was first
                    raise
        super().__exit__(kind, *rest)  # type: ignore[arg-type]


def _answers(program: str, flag: str) -> bool:
    try:
        return not subprocess.run([program, flag], capture_output=True, timeout=60).returncode
    except (OSError, subprocess.TimeoutExpired):
        return False


def _call(command: list[str], **environment: str) -> None:
    """Runs a client.

    Raises:
      Unavailable: it failed; the last line that says why, or that time ran out.
    """
    try:
        subprocess.run(
            command,
            check=True,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            env={**os.environ, **environment},
        )
    except subprocess.TimeoutExpired:
        raise Unavailable(f"{command[0]} did not finish in {_SECONDS} s") from None
    except subprocess.CalledProcessError as error:
        said = [line for line in (error.stdout + error.stderr).splitlines() if line.strip()]
        telling = [line for line in said if "ould not" in line or "annot" in line] or said
        raise Unavailable(f"{command[0]}: {telling[0][:300] if telling else 'failed'}") from None
