"""`python -m tests.long <check>`."""

import tyro

from tests.long import __doc__ as about
from tests.long.endgames import endgames
from tests.long.hosts import hosts
from tests.long.magictrick import magictrick
from tests.long.options import options
from tests.long.peeking import peeking
from tests.long.saboteur import saboteur
from tests.long.schafkopf import schafkopf
from tests.long.skullking import skullking
from tests.long.soak import soak
from tests.long.table import table

CHECKS = {
    check.__name__: check
    for check in (soak, options, hosts, endgames, peeking, magictrick, saboteur, schafkopf, skullking, table)
}

if __name__ == "__main__":
    tyro.extras.subcommand_cli_from_dict(CHECKS, description=about)
