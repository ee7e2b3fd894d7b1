"""A custom auxiliary loss: ``selection.auxiliary = "my_loss:crowding"``."""


def crowding(choice, ground, power=2.0):
    """How often vertices are chosen, to a power: the mean over the vertices of each graph.

    Parameters
    ----------
    choice
        What each subgraph contains, shape ``[vertices, subgraphs]``.
    ground
        The graph of each vertex.
    power
        Above 1, so that it is better to choose two vertices once than one vertex twice.
    """
    times = choice.sum(1, keepdim=True)
    return ground.sum_per_graph(times**power).squeeze(1) / ground.sizes.clamp(min=1)
