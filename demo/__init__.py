"""From nothing to an answered headline: cluster, operator, version, requests."""
