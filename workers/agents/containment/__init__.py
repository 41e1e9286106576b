"""The containment of agents: what the kernel of a host keeps them from."""
