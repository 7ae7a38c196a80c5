"""Losses for sentence-transformers: trained by its own trainers, with tiny models made here."""

from types import SimpleNamespace

import numpy as np
import pytest

import directrix as dx

pytestmark = pytest.mark.slow

torch = pytest.importorskip("torch", reason="needs PyTorch: pip install torch")

WORDS = ["red", "green", "blue", "big", "small", "cat", "dog", "bird"]


def lists(n_queries=24, seed=0):
    """Queries of one word, and documents of three: relevant are those that contain the word red."""
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(n_queries):
        query, n = str(rng.choice(WORDS)), int(rng.integers(3, 7))
        docs = [" ".join(rng.choice(WORDS, 3)) for _ in range(n)]
        docs[n // 2] = f"red {rng.choice(WORDS)} {rng.choice(WORDS)}"
        rows.append({"query": query, "docs": docs, "labels": [int("red" in d.split()) for d in docs]})
    return rows


def test_a_model_with_several_outputs_is_refused():
    with pytest.raises(dx.InputError, match="the model has 2 outputs per pair; one is needed"):
        dx.torch.CrossEncoderLoss(SimpleNamespace(num_labels=2))


def test_a_batch_without_documents_is_an_error():
    loss = dx.torch.CrossEncoderLoss(SimpleNamespace(num_labels=1))
    with pytest.raises(dx.InputError, match="no query of the batch has a document"):
        loss([["a", "b"], [[], []]], [[], []])


def tiny(folder, head):
    """Return the folder of a model of 2 layers of 32 units, made from its configuration."""
    transformers = pytest.importorskip("transformers", reason="needs sentence-transformers")
    vocabulary = {word: i for i, word in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS])}
    (folder / "vocab.txt").write_text("\n".join(vocabulary))
    config = transformers.BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        num_labels=1,
    )
    torch.manual_seed(0)
    getattr(transformers, head)(config).save_pretrained(folder)
    transformers.BertTokenizer(vocab=vocabulary).save_pretrained(folder)
    return str(folder)


def ndcg(model, rows):
    scores = [model.predict([(row["query"], doc) for doc in row["docs"]]) for row in rows]
    labels = np.concatenate([row["labels"] for row in rows])
    qid = np.repeat(np.arange(len(rows)), [len(row["docs"]) for row in rows])
    return dx.evaluate("nDCG@5", np.concatenate(scores), labels, qid=qid)["nDCG@5"]


def test_a_cross_encoder_learns_is_saved_and_loaded(tmp_path):
    package = pytest.importorskip("sentence_transformers", reason="needs sentence-transformers")
    datasets = pytest.importorskip("datasets", reason="needs datasets")
    (tmp_path / "model").mkdir()
    model = package.CrossEncoder(tiny(tmp_path / "model", "BertForSequenceClassification"), device="cpu")
    train, test = lists(48), lists(30, seed=1)
    before = ndcg(model, test)
    arguments = package.cross_encoder.CrossEncoderTrainingArguments(
        output_dir=str(tmp_path / "out"),
        num_train_epochs=5,
        per_device_train_batch_size=8,
        learning_rate=3e-3,
        seed=0,
        report_to="none",
        save_strategy="no",
        logging_strategy="no",
        disable_tqdm=True,
        use_cpu=True,
    )
    loss = dx.torch.CrossEncoderLoss(model, "ApproxNDCG(alpha=2.0)", mini_batch_size=16)
    package.cross_encoder.CrossEncoderTrainer(
        model=model, args=arguments, train_dataset=datasets.Dataset.from_list(train), loss=loss
    ).train()
    after = ndcg(model, test)
    assert after > before + 0.1
    model.save_pretrained(str(tmp_path / "saved"))
    assert ndcg(package.CrossEncoder(str(tmp_path / "saved"), device="cpu"), test) == pytest.approx(after)


def test_the_loss_of_a_cross_encoder_is_that_of_its_scores(tmp_path):
    package = pytest.importorskip("sentence_transformers", reason="needs sentence-transformers")
    model = package.CrossEncoder(tiny(tmp_path, "BertForSequenceClassification"), device="cpu")
    model.eval()
    rows = lists(5)
    inputs = [row["query"] for row in rows], [row["docs"] for row in rows]
    labels = [torch.tensor(row["labels"]) for row in rows]
    found = [
        dx.torch.CrossEncoderLoss(model, "RankNet", mini_batch_size=m)(inputs, labels) for m in (None, 3)
    ]
    scores = [
        torch.tensor(
            model.predict([(row["query"], d) for d in row["docs"]], activation_fn=torch.nn.Identity())
        )
        for row in rows
    ]
    wanted = dx.torch.loss("RankNet")(scores, labels)
    for one in found:
        assert one.item() == pytest.approx(wanted.item(), rel=1e-5)
    with pytest.raises(dx.InputError, match=r"every document needs one"):
        dx.torch.CrossEncoderLoss(model)(inputs, labels[::-1])
    with pytest.raises(dx.InputError, match=r"a list of documents and a list of labels"):
        dx.torch.CrossEncoderLoss(model)(inputs, torch.zeros(5))


def test_a_bi_encoder_learns_to_find_its_documents(tmp_path):
    package = pytest.importorskip("sentence_transformers", reason="needs sentence-transformers")
    datasets = pytest.importorskip("datasets", reason="needs datasets")
    modules = package.sentence_transformer.modules
    transformer = modules.Transformer(tiny(tmp_path, "BertModel"))
    model = package.SentenceTransformer(modules=[transformer, modules.Pooling(32)], device="cpu")
    words = [(a, b) for a in WORDS for b in WORDS if a < b]
    rows = [{"query": f"{a} {b}", "document": f"{b} {a} {b}"} for a, b in words]
    loss = dx.torch.RetrievalLoss(model, "ApproxAP(alpha=2.0)")

    def value():
        embed = [
            model.encode([row[c] for row in rows], convert_to_tensor=True) for c in ("query", "document")
        ]
        return loss.of_embeddings(*embed).item()

    before = value()
    arguments = package.SentenceTransformerTrainingArguments(
        output_dir=str(tmp_path / "out"),
        num_train_epochs=10,
        per_device_train_batch_size=14,
        learning_rate=2e-3,
        seed=0,
        report_to="none",
        save_strategy="no",
        logging_strategy="no",
        disable_tqdm=True,
        use_cpu=True,
    )
    package.SentenceTransformerTrainer(
        model=model, args=arguments, train_dataset=datasets.Dataset.from_list(rows), loss=loss
    ).train()
    assert value() < before - 0.1


def test_retrieval_ranks_all_documents_for_each_query():
    queries, documents = torch.randn(3, 4, dtype=torch.float64), torch.randn(5, 4, dtype=torch.float64)
    unit = [x / x.norm(dim=1, keepdim=True) for x in (queries, documents)]
    scores = 20.0 * unit[0] @ unit[1].T
    qptr, ones = np.arange(0, 16, 5), np.ones((3, 5))
    cases = [("ApproxAP", np.eye(3, 5), None), ("ApproxNDCG", ones, torch.ones(3, 5))]
    for surrogate, labels, given in cases:
        values = dx.surrogate(surrogate).value_and_grad(scores.flatten().numpy(), labels.ravel(), qptr)[0]
        loss = dx.torch.RetrievalLoss(None, surrogate).of_embeddings(queries, documents, given)
        assert loss.item() == pytest.approx(-values.mean())
    with pytest.raises(dx.InputError, match="scale"):
        dx.torch.RetrievalLoss(None, scale=0.0)
