"""Words: the same ones for all forms of a text, in every script, in documents, queries and stop words."""

import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from directrix.text import Index
from directrix.text.analysis import words_of

WORDS = {
    "हिन्दी किताब, क्षेत्र": ["हिन्दी", "किताब", "क्षेत्र"],
    "การที่ได้ต้องแสดงว่างานดี. แล้วเธอจะไปไหน? ๑๒๓๔": ["การที่ได้ต้องแสดงว่างานดี", "แล้วเธอจะไปไหน", "๑๒๓๔"],
    "كَتَبَ الكِتَابَ، ٣٫١٤": ["كَتَبَ", "الكِتَابَ", "٣٫١٤"],
    'שָׁלוֹם צה"ל צה״ל ג׳ירפה': ["שָׁלוֹם", 'צה"ל', 'צה"ל', "ג'ירפה"],
    "Tiếng Việt": ["tiếng", "việt"],
    "안녕하세요 한글입니다": ["안녕하세요", "한글입니다"],
    "Größe STRASSE Straße": ["grösse", "strasse", "strasse"],
    "wing 👩‍👩‍👧 🇩🇪 ❤️ heat": ["wing", "heat"],
    "don't don’t O'Neil 'quoted' dogs'": ["don't", "don't", "o'neil", "quoted", "dogs"],
    "3.14 3,000.5 1;2 x3.9 A4.3b the end.": ["3.14", "3,000.5", "1;2", "x3.9", "a4.3b", "the", "end"],
    "wi-fi C++ snake_case __init__ U.S. a/b:c": [
        "wi",
        "fi",
        "c",
        "snake_case",
        "__init__",
        "u.s",
        "a",
        "b",
        "c",
    ],
    "我喜欢北京 すしラーメン 〇": ["我", "喜", "欢", "北", "京", "す", "し", "ラーメン", "〇"],
    "İstanbul ﬁn ΣΊΣΥΦΟΣ σίσυφος": ["istanbul", "fin", "σίσυφοσ", "σίσυφοσ"],
    "soft\u00adhyphen می\u200cروم \u200fשלום \ufeffword": ["softhyphen", "میروم", "שלום", "word"],
    "m² H₂O col·lecció 𑀓𑀺 𑀓𑀺.𑀓": ["m²", "h₂o", "col·lecció", "𑀓𑀺", "𑀓𑀺.𑀓"],
    "\u0301 \u093f ... ’": [],
}


@pytest.mark.parametrize("text", WORDS)
@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_words_of_every_script_and_form(text, form):
    composed = [unicodedata.normalize("NFC", word) for word in WORDS[text]]
    assert words_of(unicodedata.normalize(form, text)) == composed


MIXED = st.text(
    st.sampled_from("aB1_'.,’; \u0301\u093f\u0939\u05d0\"üßŉﬁİ٣,ン\u30fc漢あ\u1100\u1161가𐐀𝟘\u200d-\n")
)


@example("\u0130\u0300")
@example("\u0130\u0307")
@given(st.text() | MIXED)
def test_a_word_is_its_own_word_and_forms_of_a_text_have_the_same(text):
    words = words_of(text)
    assert [words_of(word) for word in words] == [[word] for word in words]
    for form in ("NFC", "NFD"):
        assert words_of(unicodedata.normalize(form, text)) == words


@pytest.mark.parametrize(
    ("analyzer", "document", "query"),
    [
        ("none", unicodedata.normalize("NFD", "Müller Kaffee"), "müller"),
        ("german+stop", "STRASSE", "straße"),
        ("german+stop", unicodedata.normalize("NFD", "Flügel"), "FLÜGEL"),
        ("french", "l’avion", "avion"),
        ("french", "qu'Air", "air"),
        ("italian", "dell'arte", "arte"),
        ("catalan", "l'home", "home"),
        ("irish", "b'fhearr", "fhearr"),
        ("porter+stop", "the wing’s", "wings"),
        ("english+stop", "the wing's", "wings"),
        ("turkish", "İSTANBUL", "istanbul"),
        ("greek", "ΟΔΟΣ", "οδός"),
        ("hindi", "हिन्दी", "हिन्दी"),
    ],
)
def test_a_query_finds_a_document_of_other_case_or_form(analyzer, document, query):
    index = Index.build({"a": document, "b": "other"}, analyzers=[analyzer])
    assert index.candidates({"q": query}).doc_ids.tolist() == ["a"]


def test_stop_words_are_found_in_every_form():
    stops = [unicodedata.normalize("NFD", "FÜR"), "Don’t", "I\u0307n", "wi-fi"]
    index = Index.build({"a": "x"}, analyzers=["none+stop"], stop_words=stops)
    assert index.stop_words == ("für", "don't", "in", "wi", "fi")
    assert index.query_terms("für don't in wi fi heat", "none+stop") == ["heat"]
