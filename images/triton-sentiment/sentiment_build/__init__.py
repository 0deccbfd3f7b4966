"""The build of the news-sentiment artifact: sources, training, graph, layout, model card."""
