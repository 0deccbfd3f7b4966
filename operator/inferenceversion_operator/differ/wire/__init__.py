"""The KServe v2 protocol as the differ needs it: what an answer's outputs are, and how large a request's inputs."""
