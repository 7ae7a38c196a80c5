"""Index documents, find candidates by BM25, and rerank them with a model."""
