"""The hosts that replan may work on."""
