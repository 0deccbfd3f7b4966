"""Where copies of live requests arrive. Whoever sends them is answered at once, and is told nothing."""
