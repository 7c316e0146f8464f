"""Put the network of a run where everybody can load it by name: parameters only, with what made them.

    python train/publish.py runs/league skullking

writes agents/weights/skullking; from then on `ppo:skullking` is an agent. An existing name is not overwritten.
"""

import dataclasses
import sys

import tyro

from agents import checkpoints
from jaxgames.options import UserError


@dataclasses.dataclass(frozen=True)
class Publication:
    """What to publish."""

    run: tyro.conf.Positional[str]
    """run or checkpoint folder"""
    name: tyro.conf.Positional[str]
    """folder below agents/weights"""


def main() -> int:
    cfg = tyro.cli(Publication, description=__doc__)
    try:
        folder = checkpoints.latest(cfg.run)
        manifest = checkpoints.read_manifest(folder)
        items, _ = checkpoints.load(folder, ("params",), manifest["game"], manifest["version"])
        about = {name: value for name, value in manifest.items() if name not in ("format", "sha256")}
        print(f"wrote {checkpoints.save(checkpoints.WEIGHTS / cfg.name, items, about)}")
    except UserError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
