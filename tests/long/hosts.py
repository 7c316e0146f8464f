"""Runs of two processes that a cluster starts, and some that lose a process.

Open MPI is the real one (`mpirun`); of SLURM the variables that it sets are set. Both runs must log the same
figures as one process with two shards; a process is then killed, and the run goes on with another number of them.
"""

import csv
import os
import pathlib
import shlex
import shutil
import signal
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).parent.parent.parent
SMALL = shlex.split(
    "narrow --num-players 2 --hand-sizes 1 1 --widths 16 --envs 32 --steps 8 --minibatches 2 --epochs 1 "
    "--past-selves 2 --evaluation-deals 2 --final-deals 2 --checkpoint-every 1 --evaluate-every 1000000"
)
PATIENCE = 60  # seconds within which the others must notice


def hosts(folder: str) -> None:
    """Two processes, found by Open MPI and by SLURM's variables; one of them killed. Writes runs into a new folder."""
    base = pathlib.Path(folder)
    base.mkdir(parents=True)
    few = ["--total-steps", str(4 * 32 * 8)]
    assert start([*SMALL, *few, "--run", f"{base}/one", "--shards", "2"]).wait() == 0
    if shutil.which("mpirun"):
        mpi = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "2", sys.executable]
        assert start([*SMALL, *few, "--run", f"{base}/mpi", "--distributed"], mpi).wait() == 0
        compare(base / "one", base / "mpi")
    tasks = [
        start([*SMALL, *few, "--run", f"{base}/slurm", "--distributed"], variables=slurm(process)) for process in (0, 1)
    ]
    assert [task.wait() for task in tasks] == [0, 0]
    compare(base / "one", base / "slurm")
    for victim in (1, 0):
        lose(base / f"lost{victim}", victim)


def lose(folder: pathlib.Path, victim: int) -> None:
    """Kill one of two processes; the other must say so and end, and the run goes on in one process."""
    endless = [*SMALL, "--total-steps", str(10**9), "--run", str(folder), "--distributed"]
    tasks = [start(endless, variables=slurm(process), stderr=subprocess.PIPE) for process in (0, 1)]
    while len(list(folder.glob("checkpoints/[0-9]*"))) < 2:
        assert all(task.poll() is None for task in tasks)
        time.sleep(0.5)
    tasks[victim].kill()
    killed = time.monotonic()
    _, said = tasks[1 - victim].communicate(timeout=PATIENCE)
    seconds, code = time.monotonic() - killed, tasks[1 - victim].returncode
    print(
        f"process {victim} killed: the other ended after {seconds:.0f} s with exit code {code}: {said.strip()[-300:]}"
    )
    assert code == 1
    assert "another process of this run was lost" in said
    alone = start(["--resume", str(folder)])
    before = len(rows(folder))
    while len(rows(folder)) <= before:
        assert alone.poll() is None
        time.sleep(0.5)
    alone.send_signal(signal.SIGTERM)
    assert alone.wait() == 128 + signal.SIGTERM
    print(f"resumed by one process from {before} to {len(rows(folder))} updates")


def start(arguments: list[str], command: list[str] | None = None, variables: dict[str, str] | None = None, **pipes):
    command = [*(command or [sys.executable]), "train/ppo_skullking.py", *arguments]
    environment = os.environ | (variables or {})
    return subprocess.Popen(command, cwd=ROOT, env=environment, text=True, stdout=subprocess.DEVNULL, **pipes)


def slurm(process: int) -> dict[str, str]:
    """What SLURM tells the tasks of a step with two tasks on this machine."""
    return {
        "SLURM_JOB_ID": str(os.getpid()),
        "SLURM_NTASKS": "2",
        "SLURM_PROCID": str(process),
        "SLURM_LOCALID": str(process),
        "SLURM_STEP_NODELIST": "localhost",
    }


def rows(folder: pathlib.Path) -> list[dict[str, str]]:
    with (folder / "metrics.csv").open() as file:
        return list(csv.DictReader(file))


def compare(one: pathlib.Path, other: pathlib.Path) -> None:
    largest = 0.0
    for left, right in zip(rows(one), rows(other), strict=True):
        for name in ("loss", "entropy", "return", "games"):
            largest = max(largest, abs(float(left[name]) - float(right[name])))
    print(f"{other.name} against one process with two shards: largest difference {largest:.1e}")
    assert largest < 1e-3
