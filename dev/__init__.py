"""A real Kubernetes on one machine, for development and end-to-end tests."""
