"""The kernel as a backend: the same study on real TCP stacks, in network namespaces of its own."""
