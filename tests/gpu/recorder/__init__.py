"""The stages of tests/gpu/record. Needs nothing but Python 3.9 and its standard library; what else a machine has is used where it is."""
