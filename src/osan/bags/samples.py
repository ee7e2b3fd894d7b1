"""Several choices of subgraphs for one batch as one bag, in which equal subgraphs of a graph occur once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from osan.colors import signatures
from osan.colors.words import mix
from osan.compiled import njit


@dataclass(frozen=True, eq=False)
class JoinedChoices:
    """The different columns of several choices, graph by graph.

    Parameters
    ----------
    choice
        The choices side by side, shape ``[rows, samples * m]``.
    graph, column
        The graph and the column of each different subgraph, sorted by graph; shape ``[subgraphs]``.
    of
        The subgraph in each place of each sample, shape ``[samples, graphs, m]``.
    """

    choice: Tensor
    graph: Tensor
    column: Tensor
    of: Tensor

    def members(self, whole_graph: bool = False) -> Tensor:
        """The subgraphs of each sample by their numbers in the bag, shape ``[samples, graphs, members]``.

        ``whole_graph`` if each graph itself is the last of its subgraphs in the bag, and of all samples.
        """
        if not whole_graph:
            return self.of
        samples, graphs, _ = self.of.shape
        number = torch.arange(graphs)
        last = torch.bincount(self.graph, minlength=graphs).cumsum(0) + number
        return torch.cat((self.of + number[:, None], last.expand(samples, -1)[..., None]), dim=2)


# Integers of as many bytes as a number of the choice; numpy knows no bfloat16.
_WORDS = {2: torch.int16, 4: torch.int32, 8: torch.int64}


def joined_choices(choices: Sequence[Tensor], graph: Tensor, num_graphs: int) -> JoinedChoices:
    """Find equal subgraphs among several choices, before a bag is built.

    Parameters
    ----------
    choices
        Without gradients, all of shape ``[rows, m]``.
    graph, num_graphs
        The graph of each row, shape ``[rows]``, and the number of graphs.

    Examples
    --------
    >>> one, two = torch.tensor([[1.0, 0.0], [0.0, 1.0]]), torch.tensor([[0.0, 0.0], [1.0, 1.0]])
    >>> joined = joined_choices([one, two], torch.tensor([0, 0]), 1)
    >>> joined.column.tolist(), joined.of.flatten().tolist()
    ([0, 1], [0, 1, 1, 1])
    """
    choice = torch.cat(list(choices), dim=1)
    ptr, order = signatures.by_group(graph.numpy(), num_graphs)
    words = choice.view(_WORDS[choice.element_size()]).numpy()
    graphs, columns, of = _distinct(words, ptr, order, signatures.HASH_MASK)
    each = torch.from_numpy(of).view(num_graphs, len(choices), -1).transpose(0, 1)
    return JoinedChoices(choice, torch.from_numpy(graphs), torch.from_numpy(columns), each)


@njit(nogil=True)
def _distinct(words, ptr, order, mask):  # type: ignore[no-untyped-def]
    """The different columns of each graph: graph, column, and the number of each (graph, column).

    Columns are compared word by word; hashes only say which ones can be equal.
    """
    graphs, columns = ptr.shape[0] - 1, words.shape[1]
    graph, column = np.empty(graphs * columns, np.int64), np.empty(graphs * columns, np.int64)
    hashes, of = np.empty(graphs * columns, np.uint64), np.empty((graphs, columns), np.int64)
    count = 0
    for g in range(graphs):
        begin = count
        for c in range(columns):
            word = np.uint64(0)
            for i in range(ptr[g], ptr[g + 1]):
                row = order[i] if order.shape[0] else i
                word = mix(word ^ np.uint64(words[row, c]))
            word &= mask
            found = -1
            for d in range(begin, count):
                same = hashes[d] == word
                i = ptr[g]
                while same and i < ptr[g + 1]:
                    row = order[i] if order.shape[0] else i
                    same = words[row, c] == words[row, column[d]]
                    i += 1
                if same:
                    found = d
                    break
            if found < 0:
                graph[count], column[count], hashes[count] = g, c, word
                found = count
                count += 1
            of[g, c] = found
    return graph[:count].copy(), column[:count].copy(), of
