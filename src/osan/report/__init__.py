"""Tables, figures and pages from finished runs."""
