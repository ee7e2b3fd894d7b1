"""Noise: distributions, keys, and what Gumbel top-k samples from."""

import itertools
import math

import networkx as nx
import numpy as np
import pytest
import torch
from enumeration import data
from scipy import stats
from torch_geometric.data import Batch

from osan.errors import OsanError
from osan.selection import GroundSet, Noise, Policy, Randomness, Selection, SumOfGamma, problem_for


def many(graph, number):
    return Batch.from_data_list([data(graph)] * number)


def drawn(noise, text="select 3 vertices", number=2000, seed=0):
    batch = many(nx.path_graph(5), number)
    problem = problem_for(Policy.parse(text), batch)
    weights = torch.zeros(batch.num_nodes, 2, dtype=torch.float64)
    return noise.draw(problem, weights, Randomness.of(batch, seed))


def test_uniform_numbers_are_uniform_and_independent():
    batch = many(nx.path_graph(4), 500)
    ground = problem_for(Policy.parse("select 1 vertex"), batch).ground
    randomness = Randomness.of(batch, seed=5)
    numbers = randomness.uniform(ground, 3, 0)
    assert numbers.min() > 0
    assert numbers.max() < 1
    assert stats.kstest(numbers.flatten().numpy(), "uniform").pvalue > 0.001
    others = {
        "stream": randomness.uniform(ground, 3, 1),
        "sample": randomness.repeat(1).uniform(ground, 3, 0),
        "seed": Randomness.of(batch, seed=6).uniform(ground, 3, 0),
        "channel": numbers.roll(1, 1),
        "vertex": numbers.roll(1, 0),
        "graph": numbers.roll(4, 0),
    }
    for name, other in others.items():
        correlation = np.corrcoef(numbers.flatten().numpy(), other.flatten().numpy())[0, 1]
        assert abs(correlation) < 4 / math.sqrt(numbers.numel()), name


def test_no_two_addresses_give_the_same_numbers():
    """The first 512 draws keep the numbers of the stream 2 draw + purpose + 1024 part."""
    from osan.selection.randomness import _GOLDEN, _counter, _mix

    batch = data(nx.path_graph(1))
    ground, randomness = GroundSet.vertices(batch), Randomness.of(batch, seed=5)
    addresses = list(itertools.product(range(4), (0, 1, 2, 255, 511, 512, 513, 1024, 2000), range(4)))
    numbers = {randomness.uniform(ground, 1, *address).item() for address in addresses}
    assert len(numbers) == len(addresses)
    for purpose, draw, part in itertools.product((0, 1), (0, 1, 511), (0, 1, 250)):
        key = _mix(_mix(torch.tensor(5) + _counter(0)) + _counter(2 * draw + purpose + 1024 * part))
        key = _mix(_mix(key ^ _mix(torch.tensor(0) + _GOLDEN)) + _GOLDEN)
        expected = int(_mix(key + _GOLDEN)) % 2**64 >> 12
        assert randomness.uniform(ground, 1, purpose, draw, part).item() == (expected + 0.5) * 2.0**-52


def test_splitmix_matches_its_published_sequence():
    """First outputs of splitmix64 with the seed 1234567, as given with its reference implementation."""
    from osan.selection.randomness import _GOLDEN, _mix

    published = [6457827717110365317, 3203168211198807973, 9817491932198370423]
    state = torch.tensor(1234567)
    for expected in published:
        state = state + _GOLDEN
        assert int(_mix(state)) % 2**64 == expected


def test_a_graph_keeps_its_noise_wherever_it_stands():
    graphs = [nx.path_graph(4), nx.cycle_graph(5), nx.star_graph(3), nx.complete_graph(4)]
    named = [data(graph, graph_id=torch.tensor([10 + place])) for place, graph in enumerate(graphs)]
    for text in ("select 2 vertices", "delete 1 edge", "select 1-ego", "tree", "cover delete 1 vertex"):
        select = Selection(text)

        def choices(order, select=select):
            batch = Batch.from_data_list([named[place] for place in order])
            rows = batch.num_edges if select.policy.weighs_edges else batch.num_nodes
            choice = select(batch, torch.zeros(rows, 3), Randomness.of(batch, seed=3)).choice
            index = batch.batch[batch.edge_index[0]] if select.policy.weighs_edges else batch.batch
            return {place: choice[index == at].tolist() for at, place in enumerate(order)}

        first = choices([0, 1, 2, 3])
        assert choices([3, 1, 0, 2]) == first
        assert choices([2])[2] == first[2]


def test_a_graph_id_is_one_integer_per_graph():
    batch = many(nx.path_graph(3), 2)
    for wrong in (torch.zeros(3, dtype=torch.long), torch.zeros(2)):
        batch.graph_id = wrong
        with pytest.raises(OsanError, match=r"one integer per graph, shape \[2\]"):
            Randomness.of(batch, seed=0)


def test_the_distribution_does_not_depend_on_the_numbering():
    """Selection frequencies of a graph and of a renumbered copy agree (chi-square on 3,000 samples each)."""
    graph = nx.lollipop_graph(3, 2)
    permutation = torch.tensor([3, 0, 4, 2, 1])  # vertex v becomes permutation[v]
    renumbered = nx.relabel_nodes(graph, {v: int(permutation[v]) for v in graph})
    ordered = nx.Graph()
    ordered.add_nodes_from(range(5))
    ordered.add_edges_from(renumbered.edges)
    theta = torch.tensor([[0.3], [-0.2], [1.0], [0.0], [0.5]])
    other = torch.empty_like(theta)
    other[permutation] = theta
    for text in ("select 2 vertices", "delete 1-ego", "cover select 2 vertices"):
        tables = []
        for which, weights in ((graph, theta), (ordered, other)):
            batch = many(which, 3000)
            choice = Selection(text)(batch, weights.repeat(3000, 1), Randomness.of(batch, seed=8)).choice
            tables.append(choice.view(3000, 5).sum(0).numpy())
        observed = np.array([tables[0], tables[1][permutation.numpy()]])
        observed = np.stack([observed, 3000 - observed])  # chosen or not
        for vertex in range(5):
            table = observed[:, :, vertex]
            if (table.sum(1) > 0).all():
                assert stats.chi2_contingency(table).pvalue > 0.001


def test_gumbel_noise_is_gumbel():
    assert stats.kstest(drawn(Noise()).flatten().numpy(), "gumbel_r").pvalue > 0.001


def test_scale_multiplies_the_noise():
    assert torch.allclose(drawn(Noise(scale=2.5)), 2.5 * drawn(Noise()))


@pytest.mark.parametrize(
    ("text", "chosen"), [("select 3 vertices", 3), ("delete 1 vertex", 4), ("select 1 vertex", 1)]
)
def test_sum_of_gamma_adds_up_to_gumbel(text, chosen):
    noise = drawn(Noise(SumOfGamma(terms=100)), text, number=500).view(500, 5, 2)
    total = noise[:, :chosen].sum(1).flatten().numpy()
    assert stats.kstest(total, "gumbel_r").pvalue > 0.001


def test_gamma_numbers_are_gamma():
    from osan.selection.noise import _TRIES, _gamma

    generator = torch.Generator().manual_seed(0)
    for shape in (1.0, 1 / 3, 0.1):
        uniforms = [
            torch.rand(20000, generator=generator, dtype=torch.float64) for _ in range(3 * _TRIES + 1)
        ]
        numbers = _gamma(torch.tensor(shape, dtype=torch.float64), uniforms)
        assert stats.kstest(numbers.numpy(), "gamma", (shape,)).pvalue > 0.001


def test_gaussian_noise_follows_the_spread_of_each_graph():
    batch = Batch.from_data_list([data(nx.path_graph(6))] * 800)
    problem = problem_for(Policy.parse("select 1 vertex"), batch)
    weights = torch.randn(6, 2, dtype=torch.float64).repeat(800, 1)
    noise = Noise("gaussian", scale=0.1).draw(problem, weights, Randomness.of(batch, 0))
    standard = noise / (0.1 * weights[:6].std(unbiased=False))
    assert stats.kstest(standard.flatten().numpy(), "norm").pvalue > 0.001


def plackett_luce(theta, k):
    """Probability of every ordered k-tuple under Gumbel top-k."""
    table = {}
    for order in itertools.permutations(range(len(theta)), k):
        probability, left = 1.0, np.exp(theta).sum()
        for vertex in order:
            probability *= np.exp(theta[vertex]) / left
            left -= np.exp(theta[vertex])
        table[order] = probability
    return table


@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize("temperature", [1.0, 2.0])
def test_gumbel_top_k_is_plackett_luce(ordered, temperature):
    theta = np.array([0.7, -0.4, 0.1, 1.2])
    number = 6000
    batch = many(nx.path_graph(4), number)
    weights = torch.tensor(theta).repeat(number).unsqueeze(1)
    text = "select 2 vertices" + (" ordered" if ordered else "")
    choice = Selection(text, temperature=temperature)(batch, weights, Randomness.of(batch, 4)).choice.view(
        number, 4
    )
    expected: dict[tuple[int, ...], float] = {}
    for order, probability in plackett_luce(theta / temperature, 2).items():
        z = [0] * 4
        for rank, vertex in enumerate(order):
            z[vertex] = 2 - rank if ordered else 1
        expected[tuple(z)] = expected.get(tuple(z), 0) + probability
    seen = [tuple(map(int, row)) for row in choice.tolist()]
    counts = [seen.count(z) for z in expected]
    assert stats.chisquare(counts, number * np.array(list(expected.values()))).pvalue > 0.001
    # ... which is not the distribution p(z; theta) of the paper:
    if not ordered and temperature == 1.0:
        energy = np.exp([np.dot(z, theta) for z in expected])
        assert stats.chisquare(counts, number * energy / energy.sum()).pvalue < 1e-6


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Noise("cauchy"), "noise: expected 'gumbel', 'sum-of-gamma', 'gaussian', 'none' or"),
        (lambda: Noise(scale=-1.0), "noise: expected a scale of at least 0, got -1.0"),
        (lambda: SumOfGamma(terms=0), "noise: expected terms of at least 1, got 0"),
        (lambda: Noise(3), "noise: expected a function .*, got 3"),
        (lambda: Selection("tree", temperature=0.0), "temperature: expected a number above 0, got 0.0"),
    ],
)
def test_bad_noise(make, message):
    with pytest.raises(OsanError, match=message):
        make()


def test_sum_of_gamma_needs_a_fixed_size():
    with pytest.raises(OsanError, match=r"fixed size.*'select 1-ego'.*gumbel"):
        Selection("select 1-ego", noise=Noise("sum-of-gamma"))(data(nx.path_graph(3)), torch.rand(3, 1))
