"""What the metrics of an evaluation are, for readers of its page."""

from __future__ import annotations

EXPLAINED = {
    "unchanged": "words that came out as they were, of all words",
    "unchanged_known": "the same, of words in the vocabulary",
    "out_of_vocabulary": "words of the originals that are not in the vocabulary",
    "out_of_vocabulary_released": "words of the release that are not in the vocabulary",
    "unchanged_rare": "the same, of words that the language model holds for rarer than 1 in 10,000",
    "perplexity": "perplexity of the release under the language model",
    "perplexity_original": "the same of the originals",
    "bleu": "BLEU, 0 to 100, as sacrebleu computes it",
    "chrf": "chrF, 0 to 100, as sacrebleu computes it",
    "rouge1": "ROUGE-1, F measure, mean over documents",
    "rouge2": "ROUGE-2, likewise",
    "rougeL": "ROUGE-L, likewise",
    "embedding_similarity": "cosine of the mean word vectors, mean over documents",
    "wmd": "Word Mover's Distance, mean over documents, in units of the embedding",
    "wmd_relaxed": "a lower bound of it, for documents of every length",
    "count_distance": "total variation between the shares of words, 0 to 1",
    "count_correlation": "rank correlation of the counts of the originals' 1,000 commonest words",
    "pair_correlation": "correlation of the mutual information of their 2,000 commonest pairs",
    "topic_agreement": "adjusted Rand index of documents by 10 topics of either side",
    "encoder_similarity": "cosine by the sentence encoder, mean over documents",
    "encoder_similarity_strangers": "the same with the original of another document",
    "model_perplexity": "perplexity a word of the release under the model of --perplexity_model",
    "model_perplexity_original": "the same of the originals",
    "mauve": "MAUVE of the release against the originals, 0 to 1",
    "distinct_1": "different words among each 1,000 in a row, of the release",
    "distinct_1_original": "the same of the originals",
    "distinct_2": "different pairs of words in a row, likewise",
    "distinct_2_original": "the same of the originals",
    "distinct_3": "different triples of words in a row, likewise",
    "distinct_3_original": "the same of the originals",
    "words_per_document": "words a document, of the release",
    "words_per_document_original": "the same of the originals",
}
"""By the metric's name; scores of whole corpora come in this order."""

EXPLAINED_IN = {metric: place for place, metric in enumerate(EXPLAINED)}
