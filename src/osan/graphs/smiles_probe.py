"""Read SMILES with RDKit in a process of its own, which may crash or be ended.

Run as a script by :class:`osan.graphs.smiles.SmilesGuard`, so that only RDKit is imported.
"""

import json
import sys


def main(seconds: int) -> None:
    """Answer each line of the input, a JSON string, with a line, after at most some seconds of work."""
    from rdkit import Chem, RDLogger

    RDLogger.DisableLog("rdApp.*")  # type: ignore[attr-defined]
    for line in sys.stdin:
        _allow(seconds)
        molecule = Chem.MolFromSmiles(json.loads(line))
        if molecule is not None:
            Chem.MolToSmiles(molecule)
        sys.stdout.write("done\n")
        sys.stdout.flush()


def _allow(seconds: int) -> None:
    """Let the system end this process after so many further seconds of processor time."""
    try:
        import resource
    except ImportError:  # Windows: the other process waits for a while and then ends this one
        return
    used = resource.getrusage(resource.RUSAGE_SELF)
    spent = int(used.ru_utime + used.ru_stime)
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (spent + seconds + 1, hard))


if __name__ == "__main__":
    main(int(sys.argv[1]))
