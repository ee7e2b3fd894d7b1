"""The paper's experiments: every row that its authors ran as a recipe, and sweeps over them."""
