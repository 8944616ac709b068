"""A standalone Flink cluster of separate processes on this machine's loopback addresses.

A JobManager, and for each TaskManager a separate address (127.0.0.1, 127.0.0.2, …) with a Beam
worker pool next to it, as on separate hosts: every TaskManager reaches its own pool under the
one name that a job's --environment_config can give, by a hosts file of its own.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.engines.installed import OPENED

ROOT = Path(__file__).parent.parent.parent
_POOL = "worker-pool"
_JOB_MANAGER = "org.apache.flink.runtime.entrypoint.StandaloneSessionClusterEntrypoint"
_TASK_MANAGER = "org.apache.flink.runtime.taskexecutor.TaskManagerRunner"


class FlinkCluster:
    """Starts with ``with``, and ends all its processes after it.

    Args:
      jar: the Flink job server's, whose libraries hold Flink itself.
      folder: for configuration and logs.
      task_managers: how many.
      slots: of each TaskManager.
      attempts: how often a job that fails again and again is started again; None for ever.
      checkpoints: how many checkpoints are kept.
      pools: whether workers are in worker pools, or else children of the TaskManagers.
    """

    def __init__(
        self,
        jar: Path,
        folder: Path,
        task_managers: int = 2,
        slots: int = 2,
        attempts: int | None = 8,
        checkpoints: int = 1,
        pools: bool = True,
    ):
        self._jar = jar
        self._folder = folder
        self._slots = slots
        self._pools = pools
        self._rest, rpc, self._pool_port = free_ports(3)
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._task_managers = task_managers
        folder.mkdir(parents=True, exist_ok=True)
        settings = _CONFIGURATION.format(rest=self._rest, rpc=rpc, folder=folder)
        settings += f"state.checkpoints.num-retained: {checkpoints}\n"
        if attempts is not None:
            settings += f"{_ATTEMPTS}: {attempts}\n"
        (folder / "config.yaml").write_text(settings)

    def __enter__(self) -> FlinkCluster:
        try:
            self._java("job-manager", _JOB_MANAGER, "127.0.0.1", "-Xmx512m")
            for number in range(self._task_managers):
                if self._pools:
                    self.start_pool(number)
                self.start_task_manager(number)
            self.await_task_managers()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for name in list(self._processes):
            self.kill(name)

    def logs(self) -> str:
        """What all processes of the cluster have said."""
        return "".join(path.read_text(errors="replace") for path in self._folder.glob("*.log"))

    def flags(self, parallelism: int | None = None, kept: int = 3000) -> tuple[str, ...]:
        """Beam's flags that send a job here.

        Args:
          parallelism: of the job; all slots by default.
          kept: milliseconds for which a worker that no task uses is kept for the next.
        """
        return (
            "--runner=FlinkRunner",
            f"--flink_master=127.0.0.1:{self._rest}",
            f"--flink_job_server_jar={self._jar}",
            *self._environment(),
            f"--parallelism={parallelism or self._task_managers * self._slots}",
            f"--environment_cache_millis={kept}",
        )

    def _environment(self) -> tuple[str, str]:
        if self._pools:
            config = f"{_POOL}:{self._pool_port}"
            return "--environment_type=EXTERNAL", f"--environment_config={config}"
        boot = self._folder / "boot"
        boot.write_text(f'#!/bin/sh\nexec {sys.executable} -m tests.engines.worker_process "$@"\n')
        boot.chmod(0o755)
        config = json.dumps({"command": str(boot)})
        return "--environment_type=PROCESS", f"--environment_config={config}"

    def start_task_manager(self, number: int) -> None:
        """Starts the TaskManager of this number, which must not be running."""
        address = f"127.0.0.{number + 1}"
        hosts = self._folder / f"hosts-{number}"
        names = ("localhost", "127.0.0.1"), (socket.gethostname(), address), (_POOL, address)
        hosts.write_text("".join(f"{place} {name}\n" for name, place in names))
        self._java(
            f"task-manager-{number}",
            _TASK_MANAGER,
            address,
            "-Xmx768m",
            f"-Djdk.net.hosts.file={hosts}",
            settings=(
                f"taskmanager.host={address}",
                f"taskmanager.bind-host={address}",
                f"taskmanager.resource-id=task-manager-{number}-{time.monotonic_ns()}",
                f"taskmanager.numberOfTaskSlots={self._slots}",
            ),
        )

    def start_pool(self, number: int) -> None:
        """Starts the worker pool next to the TaskManager of this number."""
        bin_folder = str(Path(sys.executable).parent)
        self._start(
            f"pool-{number}",
            [
                sys.executable,
                "-m",
                "tests.engines.worker_pool",
                f"127.0.0.{number + 1}:{self._pool_port}",
            ],
            PATH=f"{bin_folder}{os.pathsep}{os.environ['PATH']}",
            PYTHONPATH=str(Path(__file__).parent / "loud"),
        )

    def start(self, name: str) -> None:
        """Starts a process again that was killed."""
        kind, _, number = name.rpartition("-")
        if kind == "worker":  # its TaskManager starts it
            return
        {"task-manager": self.start_task_manager, "pool": self.start_pool}[kind](int(number))

    def kill(self, name: str) -> None:
        """SIGKILL for a process and its children: "task-manager-0", "pool-1", "worker-0"."""
        if name.startswith("worker-"):
            self._kill_workers(self._processes[name.replace("worker", "task-manager")].pid)
            return
        process = self._processes.pop(name)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def _kill_workers(self, session: int) -> None:
        for folder in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                name, _, fields = (folder / "stat").read_text().partition("(")[2].rpartition(") ")
                if int(fields.split()[3]) == session and name != "java":
                    os.kill(int(folder.name), signal.SIGKILL)

    def sessions(self) -> dict[int, str]:
        """What runs in which session of processes; worker pools have no Java."""
        return {process.pid: name.rstrip("-01") for name, process in self._processes.items()}

    def await_task_managers(self) -> None:
        """Waits until every TaskManager has registered its slots."""
        wanted = self._task_managers * self._slots
        wait_for(lambda: (self.ask("/overview") or {}).get("slots-total", 0) >= wanted, "slots", 60)

    def ask(self, path: str) -> Any:
        """What Flink's REST interface says; None while it does not answer."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self._rest}{path}", timeout=10) as said:
                return json.load(said)
        except (urllib.error.URLError, OSError, ValueError):
            return None

    def cancel(self, job: str) -> None:
        """Asks Flink to cancel a job."""
        address = f"http://127.0.0.1:{self._rest}/jobs/{job}"
        urllib.request.urlopen(urllib.request.Request(address, method="PATCH"), timeout=10).close()

    def running_jobs(self) -> list[str]:
        """Identifiers of the jobs that have not ended."""
        jobs = (self.ask("/jobs") or {"jobs": []})["jobs"]
        ended = ("FINISHED", "CANCELED", "FAILED")
        return [job["id"] for job in jobs if job["status"] not in ended]

    def checkpoint(self) -> float | None:
        """MiB of the last checkpoint of a job that runs; None while there is none."""
        for job in self.running_jobs():
            said = self.ask(f"/jobs/{job}/checkpoints") or {}
            if last := said.get("latest", {}).get("completed"):
                return float(last["state_size"]) / 2**20
        return None

    def _java(
        self, name: str, main: str, address: str, *flags: str, settings: tuple[str, ...] = ()
    ) -> None:
        opened = [f"--add-opens={package}=ALL-UNNAMED" for package in OPENED]
        given = ["--configDir", str(self._folder)]
        given += [part for setting in settings for part in ("-D", setting)]
        self._start(
            name,
            ["java", *opened, *flags, "-cp", str(self._jar), main, *given],
        )

    def _start(self, name: str, command: list[str], **environment: str) -> None:
        with (self._folder / f"{name}.log").open("ab") as log:
            self._processes[name] = subprocess.Popen(
                command,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=ROOT,
                env={**os.environ, **environment},
                start_new_session=True,
            )


def wait_for(found: Callable[[], Any], what: str, seconds: float) -> Any:
    """Looks every 50 ms until there is something, or fails after this many seconds."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if something := found():
            return something
        time.sleep(0.05)
    raise AssertionError(f"no {what} within {seconds:.0f} s")


def free_ports(count: int) -> list[int]:
    """Ports that nobody listens on now."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
    finally:
        for one in sockets:
            one.close()


_CONFIGURATION = """\
jobmanager.rpc.address: 127.0.0.1
jobmanager.rpc.port: {rpc}
jobmanager.bind-host: 127.0.0.1
jobmanager.memory.process.size: 1g
rest.address: 127.0.0.1
rest.bind-address: 127.0.0.1
rest.port: {rest}
taskmanager.cpu.cores: 2
taskmanager.memory.framework.heap.size: 128m
taskmanager.memory.framework.off-heap.size: 128m
taskmanager.memory.task.heap.size: 512m
taskmanager.memory.task.off-heap.size: 0m
taskmanager.memory.managed.size: 128m
taskmanager.memory.network.min: 192m
taskmanager.memory.network.max: 192m
# Beam keeps workers from one stage to the next only where it is part of Flink, not of the job.
classloader.resolve-order: parent-first
# The job has many shuffles, most of them tiny; by default each takes 16 MiB of network memory.
taskmanager.network.sort-shuffle.min-buffers: 64
taskmanager.memory.jvm-metaspace.size: 256m
taskmanager.memory.jvm-overhead.min: 192m
taskmanager.memory.jvm-overhead.max: 192m
io.tmp.dirs: {folder}
# In memory, Flink's default, a checkpoint of more than 5 MiB fails, and then the job.
state.checkpoint-storage: filesystem
state.checkpoints.dir: file://{folder}/checkpoints
process.working-dir: {folder}
# A lost TaskManager is noticed within seconds, and what it had done is done again.
heartbeat.interval: 1000
heartbeat.timeout: 8000
# Beam forgets a lost worker when no task has used it for --environment_cache_millis, so the delays
# must grow beyond that.
restart-strategy.type: exponential-delay
restart-strategy.exponential-delay.initial-backoff: 1 s
restart-strategy.exponential-delay.backoff-multiplier: 2
restart-strategy.exponential-delay.max-backoff: 16 s
restart-strategy.exponential-delay.jitter-factor: 0
restart-strategy.exponential-delay.reset-backoff-threshold: 1 min
# A job of few tasks is spread over all hosts.
taskmanager.load-balance.mode: SLOTS
"""
_ATTEMPTS = "restart-strategy.exponential-delay.attempts-before-reset-backoff"
