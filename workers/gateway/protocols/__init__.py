"""The protocols of models' providers, as the gateway reads and speaks them."""
