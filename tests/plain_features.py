"""The features of a text by the plain Python functions of `words.analysis`, which the native code must equal."""

from suffice.core.words.analysis import WORD, character_ngrams, ngrams_within_words, preprocess, word_ngrams


def analyze(text, tokenization):
    """Return the features of one text by ascending size, without stemming."""
    text = preprocess(text, tokenization.lowercase, tokenization.strip_accents)
    if tokenization.analyzer == "char":
        return character_ngrams(text, tokenization.ngram_range)
    if tokenization.analyzer == "char_wb":
        return ngrams_within_words(text, tokenization.ngram_range)
    words, stops = WORD.findall(text), tokenization.stop_list
    if stops:
        words = [word for word in words if word not in stops]
    return word_ngrams(words, tokenization.ngram_range)
