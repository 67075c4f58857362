// Python bindings of the kernels on texts.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <cmath>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string_view>

#include "numpy_vectors.hpp"
#include "text.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace suffice {
namespace {

template <class T>
using Out = nb::ndarray<T, nb::c_contig, nb::device::cpu>;
using Bytes = Vector<std::uint8_t>;
using Places = Vector<Index>;
using Weights = std::optional<Vector<double>>;

auto arrays(Names&& names) { return std::pair(array(std::move(names.text)), array(std::move(names.start))); }

// start[0] = 0 ≤ start[1] ≤ … ≤ size.
Index segments(const Places& start, Index size) {
    require(start.size() > 0 && start(0) == 0, "segments must begin at 0");
    const Index n = Index(start.size()) - 1;
    const Index* at = start.data();
    bool ascend = true;  // a loop without an exit is vectorized
    for (Index i = 0; i < n; ++i) ascend &= at[i] <= at[i + 1];
    require(ascend, "segments must ascend");
    require(start(n) <= size, "segments beyond the data");
    return n;
}

// The same for names, whose lengths are 32-bit integers.
Index name_segments(const Places& start, Index size) {
    const Index n = segments(start, size);
    for (Index i = 0; i < n; ++i) require(start(i + 1) - start(i) < (Index(1) << 31), "a name of 2^31 bytes or more");
    return n;
}

void require_within(const Places& places, Index size) {
    const Index* at = places.data();
    bool within = true;
    for (Index e = 0; e < Index(places.size()); ++e) within &= std::uint64_t(at[e]) < std::uint64_t(size);
    require(within, "places");
}

// Words in parts.
void require_slots(const Vector<std::uint16_t>& slot, Index features, Index slots) {
    require(Index(slot.size()) == features, "sizes");
    std::uint16_t last = 0;
    for (Index j = 0; j < features; ++j) last = std::max(last, slot.data()[j]);
    require(!features || last < slots, "slots");
}

std::vector<Index> copy_of(const Places& values) { return {values.data(), values.data() + values.size()}; }

// Documents, and the objects that own their memory. Positions are copied, because callers may write to their arrays.
struct TextList {
    nb::list owners;
    std::vector<Document> documents;
    bool cut = false;
    Bytes bytes;
    std::vector<Index> token_start, document_start;
    std::optional<Vector<bool>> present;  // of documents given as tokens
    // Kernels run without the GIL: nothing may be added once one has read the documents.
    mutable bool fixed = false;
    mutable nb::ft_mutex lock;  // of all above, where Python has no GIL

    Texts view() const {
        if (!cut) return {documents.data(), Index(documents.size())};
        const bool* known = present ? present->data() : nullptr;
        return {nullptr, Index(document_start.size()) - 1, bytes.data(), token_start.data(), document_start.data(),
                known};
    }
    Texts read() const {
        nb::ft_lock_guard hold(lock);
        fixed = true;
        return view();
    }
    void require_open() const { require(!fixed && !cut, "texts that were read, or came in tokens, stay as they are"); }
};

PyObject* isascii = nullptr;  // the name, made by bind_texts and never freed: the interpreter may be gone by then

bool is_ascii(nb::handle text) {
    const nb::object found = nb::steal(PyObject_CallMethodObjArgs(text.ptr(), isascii, nullptr));
    if (!found.is_valid()) nb::raise_python_error();
    return found.ptr() == Py_True;
}

// The UTF-8 of a Python string or of bytes. That of ASCII is the memory of the string. That of others goes to `owners`:
// a string would keep it for as long as it lives.
Document document_of(nb::handle text, nb::list& owners) {
    char* bytes;
    Py_ssize_t size;
    if (PyUnicode_Check(text.ptr()) && is_ascii(text))
        return {reinterpret_cast<const std::uint8_t*>(PyUnicode_AsUTF8AndSize(text.ptr(), &size)), size, false};
    nb::object own = nb::borrow(text);
    if (PyUnicode_Check(text.ptr())) {
        own = nb::steal(PyUnicode_AsUTF8String(text.ptr()));
        if (!own.is_valid()) {
            nb::python_error error;
            if (!error.matches(PyExc_UnicodeEncodeError)) throw error;
            throw BadText(nb::cast<Index>(error.value().attr("start")), "a lone surrogate");
        }
        owners.append(own);
    }
    if (PyBytes_AsStringAndSize(own.ptr(), &bytes, &size)) nb::raise_python_error();
    return {reinterpret_cast<const std::uint8_t*>(bytes), size, false};
}

bool is_text(nb::handle text) { return PyUnicode_Check(text.ptr()) || PyBytes_Check(text.ptr()); }

// Add the texts of a tuple; returns the position of the first object that is not a text, or -1.
Index add_strings(TextList& list, nb::typed<nb::tuple, nb::object, nb::ellipsis> texts) {
    list.require_open();
    const Index n = Index(nb::len(texts));
    std::vector<Document> added(n);
    nb::list owners;
    for (Index i = 0; i < n; ++i) {
        const nb::handle text = PyTuple_GetItem(texts.ptr(), i);
        if (text.is_none() || (PyFloat_Check(text.ptr()) && std::isnan(PyFloat_AsDouble(text.ptr())))) continue;
        if (!is_text(text)) return i;
        try {
            added[i] = document_of(text, owners);
        } catch (const BadText& bad) {
            throw BadDocument(i, bad.position, bad.what_);
        }
    }
    nb::ft_lock_guard hold(list.lock);
    list.require_open();  // what Python ran since may have read them
    list.owners.append(texts);
    list.owners.append(owners);
    list.documents.insert(list.documents.end(), added.begin(), added.end());
    return -1;
}

template <class Offset>
void add_arrow(TextList& list, Bytes bytes, Vector<Offset> start, std::optional<Vector<bool>> present) {
    const Index n = Index(start.size()) - 1;
    nb::ft_lock_guard hold(list.lock);
    list.require_open();
    require(n >= 0 && (!present || Index(present->size()) == n), "one start for each text, and an end");
    Index before = 0;
    for (Index i = 0; i <= n; ++i) {
        require(start(i) >= before && Index(start(i)) <= Index(bytes.size()), "texts beyond the data");
        before = start(i);
    }
    list.owners.append(nb::cast(bytes));
    for (Index i = 0; i < n; ++i)
        list.documents.push_back({bytes.data() + start(i), Index(start(i + 1) - start(i)), present && !(*present)(i)});
}

void set_tokens(TextList& list, Bytes bytes, Places token_start, Places document_start,
                std::optional<Vector<bool>> present) {
    nb::ft_lock_guard hold(list.lock);
    list.require_open();
    require(list.documents.empty(), "texts are strings or tokens, not both");
    const Index tokens = name_segments(token_start, Index(bytes.size()) - 8);  // 8 bytes are read at a time
    segments(document_start, tokens);
    require(!present || present->size() + 1 == document_start.size(), "present of each document");
    list.token_start = copy_of(token_start), list.document_start = copy_of(document_start);
    list.bytes = bytes, list.present = present;
    list.cut = true;
}

TextList* take(const TextList& list, Places rows) {
    nb::ft_lock_guard hold(list.lock);
    require(!list.cut, "texts in tokens are taken by their owner");
    auto out = std::make_unique<TextList>();
    out->owners.append(list.owners);
    out->documents.reserve(rows.size());
    for (Index r = 0; r < Index(rows.size()); ++r) {
        require(rows(r) >= 0 && rows(r) < Index(list.documents.size()), "rows beyond the texts");
        out->documents.push_back(list.documents[rows(r)]);
    }
    return out.release();
}

// A tokenization and its lists, which are copied, because callers may write to their arrays.
struct OwnedTokenization {
    struct Lists {
        std::vector<std::uint8_t> text;
        std::vector<Index> start, target;
    };
    Tokenization tokenization;
    std::shared_ptr<const Lists> lists = {};
};

// Words are identified by their positions in the list, so they must be distinct.
void set_replaced(OwnedTokenization& own, const Bytes& text, const Places& start, const Places& target) {
    const Index n = name_segments(start, Index(text.size()) - 8);
    require(Index(target.size()) == n, "one target for each word");
    auto word = [&](Index i) {
        return std::string_view(reinterpret_cast<const char*>(text.data()) + start(i),
                                std::size_t(start(i + 1) - start(i)));
    };
    for (Index i = 0; i < n; ++i) {
        require(target(i) < n, "targets beyond the list");
        require(!i || word(i - 1) < word(i), "words that are replaced must be distinct and sorted");
    }
    own.lists = std::make_shared<const OwnedTokenization::Lists>(
        OwnedTokenization::Lists{{text.data(), text.data() + text.size()}, copy_of(start), copy_of(target)});
    own.tokenization.replaced = {own.lists->text.data(), own.lists->start.data(), own.lists->target.data(), n};
}

// A vocabulary with its tokenization, on which the numbers of words and the sizes of n-grams depend.
struct OwnedLexicon {
    OwnedTokenization tokenization;
    FixedLexicon fixed;
};

Weighting weighting(int term, int norm) {
    require(term >= 0 && term <= 3 && norm >= 0 && norm <= 2, "a weighting by number");
    return {TermWeight(term), LengthNorm(norm)};
}

Rows rows_of(const Vector<std::int32_t>& codes, const Weights& weight, Index classes, Index n) {
    require(Index(codes.size()) == n && (!weight || Index(weight->size()) == n), "a class and a weight for each text");
    require(n < (Index(1) << 31), "at most 2^31 texts at once: pass more in parts");
    require(classes >= 0, "a number of classes");
    require(codes_within(codes.data(), n, classes), "class codes must lie between 0 and the number of classes");
    return {codes.data(), weight ? weight->data() : nullptr, classes};
}

View view_of(const Bytes& text, const Places& start) {
    return {text.data(), start.data(), name_segments(start, Index(text.size()))};
}

Entries entries_of(const Places& start, const Vector<std::int32_t>& code, Index classes) {
    const Index n = segments(start, Index(code.size()));
    require(codes_within(code.data(), Index(code.size()), classes),
            "class codes must lie between 0 and the number of classes");
    return {start.data(), code.data(), n};
}

Bags bags_of(const Places& start, const Vector<std::int32_t>& feature, const Vector<double>& value, Index features) {
    const Index n = segments(start, Index(feature.size()));
    require(value.size() == feature.size(), "a value for each feature");
    require(codes_within(feature.data(), start(n), features), "features beyond the vocabulary");
    return {start.data(), feature.data(), value.data(), n};
}

TokenOptions token_options(bool lowercase, const std::optional<std::string>& accents, const std::string& by, int least,
                           int most) {
    const std::string how = accents.value_or("");
    require(how == "" || how == "ascii" || how == "unicode", "accents must be None, ascii or unicode");
    require(by == "word" || by == "char" || by == "char_wb", "analyzer must be word, char or char_wb");
    require(1 <= least && least <= most, "n-grams must have at least one character");
    return {lowercase,
            how == ""        ? Accents::keep
            : how == "ascii" ? Accents::ascii
                             : Accents::unicode,
            by == "word"   ? Analyzer::word
            : by == "char" ? Analyzer::character
                           : Analyzer::within_words,
            least, most};
}

void append_tokens(nb::list& found, Tokenizer& tokenizer, const Document& document) {
    tokenizer.begin(document);
    while (tokenizer.next()) {
        const char* bytes = reinterpret_cast<const char*>(tokenizer.bytes());
        for (Index t = 0; t < tokenizer.size(); ++t)
            found.append(nb::str(bytes + tokenizer.start()[t], tokenizer.length()[t]));
    }
}

void bind_tokens(nb::module_& m) {
    m.attr("unicode_version") = unicode_version();
    m.def(
        "tokens",
        [](nb::handle text, bool lowercase, std::optional<std::string> accents, std::string analyzer, int least,
           int most) {
            TokenOptions options = token_options(lowercase, accents, analyzer, least, most);
            if (!text.is_none() && !is_text(text)) throw nb::type_error("a document must be str, bytes or None");
            nb::typed<nb::list, nb::str> found;
            // All n-grams of one size come before those of the next, as in scikit-learn.
            const int sizes = options.analyzer == Analyzer::character ? most - least + 1 : 1;
            nb::list owners;
            try {
                const Document from = text.is_none() ? Document{} : document_of(text, owners);
                for (int i = 0; i < sizes; ++i) {
                    if (sizes > 1) options.least = options.most = least + i;
                    Tokenizer tokenizer(options);
                    append_tokens(found, tokenizer, from);
                }
            } catch (const BadText& bad) {
                throw std::invalid_argument(std::string(bad.what()) + " at position " + std::to_string(bad.position));
            }
            return found;
        },
        "Return the tokens of one document, for tests.", "document"_a.none(), "lowercase"_a, "accents"_a.none(),
        "analyzer"_a, "least"_a, "most"_a);
}

void bind_bags(nb::module_& m) {
    using Codes = Vector<std::int32_t>;
    m.def(
        "entry_sums",
        [](Places at, Codes code, Vector<double> value, Vector<std::uint8_t> block, Out<double> by_feature,
           Out<double> by_class) {
            require(by_class.ndim() == 2 && by_class.shape(0) > 0, "a row for each block");
            const Index blocks = Index(by_class.shape(0)), classes = Index(by_class.shape(1));
            const Entries entries = entries_of(at, code, classes);
            require(value.size() == code.size() && Index(block.size()) == entries.features, "sizes");
            require(Index(by_feature.size()) == entries.features, "sizes");
            for (Index j = 0; j < entries.features; ++j) require(block(j) < blocks, "blocks");
            nb::gil_scoped_release release;
            entry_sums(entries, value.data(), block.data(), blocks, classes, by_feature.data(), by_class.data());
        },
        "Write the sum of the numbers of each feature, and of each class over the features of every block.",
        "at"_a.noconvert(), "code"_a.noconvert(), "value"_a.noconvert(), "block"_a.noconvert(),
        "by_feature"_a.noconvert(), "by_class"_a.noconvert());
    m.def(
        "bag_scores",
        [](Places start, Codes feature, Vector<double> value, Places at, Codes code, Vector<double> coef,
           Vector<double> base, Out<double> out, Out<double> lengths) {
            const Index classes = Index(base.size());
            const Entries entries = entries_of(at, code, classes);
            const Bags x = bags_of(start, feature, value, entries.features);
            require(coef.size() == code.size(), "sizes");
            require(Index(out.size()) == x.rows * classes && Index(lengths.size()) == x.rows, "sizes");
            nb::gil_scoped_release release;
            bag_scores(x, entries, coef.data(), base.data(), classes, out.data(), lengths.data());
        },
        "Write base·length + Σ_j x_ij coef_jc (rows, classes) and the length Σ_j x_ij of each row.",
        "start"_a.noconvert(), "feature"_a.noconvert(), "value"_a.noconvert(), "at"_a.noconvert(), "code"_a.noconvert(),
        "coef"_a.noconvert(), "base"_a.noconvert(), "out"_a.noconvert(), "lengths"_a.noconvert());
    m.def(
        "bag_log_sums",
        [](Places start, Codes feature, Vector<double> value, Codes codes, Index classes, Weights weight, Places at,
           Codes code, Vector<double> table, double added, double of_nothing, Out<double> out) {
            const Entries entries = entries_of(at, code, classes);
            const Bags x = bags_of(start, feature, value, entries.features);
            const Rows rows = rows_of(codes, weight, classes, x.rows);
            require(table.size() == code.size() && Index(out.size()) == x.rows, "sizes");
            nb::gil_scoped_release release;
            bag_log_sums(x, rows, entries, table.data(), added, of_nothing, out.data());
        },
        "Write Σ_j x_ij log(table_jc + added - w_i x_ij), c being the class of row i.", "start"_a.noconvert(),
        "feature"_a.noconvert(), "value"_a.noconvert(), "codes"_a.noconvert(), "classes"_a,
        "weight"_a.noconvert().none(), "at"_a.noconvert(), "code"_a.noconvert(), "table"_a.noconvert(), "added"_a,
        "of_nothing"_a, "out"_a.noconvert());
    m.def(
        "bag_left_out",
        [](Places start, Codes feature, Vector<double> value, Codes codes, Index classes, Weights weight, Places at,
           Codes code, Vector<double> total, Weights all, Vector<std::uint16_t> slot, Vector<double> added,
           Out<double> out) {
            const Entries entries = entries_of(at, code, classes);
            const Bags x = bags_of(start, feature, value, entries.features);
            const Rows rows = rows_of(codes, weight, classes, x.rows);
            const Index slots = Index(added.size());
            require(total.size() == code.size() && (!all || Index(all->size()) == entries.features), "sizes");
            require_slots(slot, entries.features, slots);
            require(std::all_of(added.data(), added.data() + slots, [](double a) { return a > 0; }), "smoothing");
            require(Index(out.size()) == x.rows * slots * classes, "sizes");
            nb::gil_scoped_release release;
            const double* whole = all ? all->data() : nullptr;
            bag_left_out(x, rows, {entries, total.data(), whole, slot.data(), added.data(), slots}, out.data());
        },
        "Write the scores of rows taken out of their classes, in parts, (rows, slots, classes).", "start"_a.noconvert(),
        "feature"_a.noconvert(), "value"_a.noconvert(), "codes"_a.noconvert(), "classes"_a,
        "weight"_a.noconvert().none(), "at"_a.noconvert(), "code"_a.noconvert(), "total"_a.noconvert(),
        "every"_a.noconvert().none(), "slot"_a.noconvert(), "added"_a.noconvert(), "out"_a.noconvert());
    m.def(
        "mixed_coef",
        [](Places place, Places owner, Vector<double> total, Vector<double> all, Vector<std::uint16_t> slot,
           Out<const double> scores, Out<double> out) {
            const Index n = Index(place.size()), features = Index(all.size());
            require(scores.ndim() == 2 && scores.shape(1) == 4, "four numbers for each slot");
            require_slots(slot, features, Index(scores.shape(0)));
            require(Index(owner.size()) == n && Index(out.size()) == n, "sizes");
            require_within(place, Index(total.size()));
            require_within(owner, features);
            nb::gil_scoped_release release;
            mixed_coef(place.data(), owner.data(), n, total.data(), all.data(), slot.data(),
                       reinterpret_cast<const SlotScores*>(scores.data()), out.data());
        },
        "Write the scores of words where a class has them, in a sum of multinomial and complement scores.",
        "place"_a.noconvert(), "owner"_a.noconvert(), "total"_a.noconvert(), "every"_a.noconvert(),
        "slot"_a.noconvert(), "scores"_a.noconvert(), "out"_a.noconvert());
    m.def(
        "weighted_loss",
        [](Out<const double> score, Out<const double> log, Out<const double> log_prior, Codes codes,
           Vector<double> weight, Vector<double> phi, std::optional<Out<double>> gradient,
           std::optional<Out<double>> hessian) {
            require(score.ndim() == 3, "scores of parts");
            const Index n = Index(score.shape(0)), parts = Index(score.shape(1)), classes = Index(score.shape(2));
            const Rows rows = rows_of(codes, weight, classes, n);
            require(Index(log.size()) == n * parts && Index(log_prior.size()) == n * classes, "sizes");
            require(Index(phi.size()) == parts + 2 && gradient.has_value() == hessian.has_value(), "sizes");
            require(!gradient || (gradient->size() == phi.size() && hessian->size() == phi.size() * phi.size()),
                    "sizes");
            nb::gil_scoped_release release;
            const WeightedScores x{score.data(), log.data(), log_prior.data(), rows.code, rows.weight, n,
                                   parts,        classes};
            return weighted_loss(x, phi.data(), gradient ? gradient->data() : nullptr,
                                 hessian ? hessian->data() : nullptr);
        },
        "Return the log-loss of scores added with weights; write its gradient and its Hessian.", "score"_a.noconvert(),
        "log"_a.noconvert(), "log_prior"_a.noconvert(), "codes"_a.noconvert(), "weight"_a.noconvert(),
        "phi"_a.noconvert(), "gradient"_a.noconvert().none() = nb::none(), "hessian"_a.noconvert().none() = nb::none());
    m.def(
        "bag_urns",
        [](Places start, Codes feature, Vector<double> value, std::optional<Codes> codes, Index classes, Weights weight,
           Places at, Codes code, Vector<double> total, double added, Out<double> out) {
            const Entries entries = entries_of(at, code, classes);
            const Bags x = bags_of(start, feature, value, entries.features);
            const Rows rows = codes ? rows_of(*codes, weight, classes, x.rows) : Rows{nullptr, nullptr, classes};
            require(total.size() == code.size() && added > 0 && Index(out.size()) == x.rows * classes, "sizes");
            nb::gil_scoped_release release;
            bag_urns(x, rows, entries, total.data(), added, out.data());
        },
        "Write Dirichlet-multinomial scores, row i taken out of its class where codes are given.",
        "start"_a.noconvert(), "feature"_a.noconvert(), "value"_a.noconvert(), "codes"_a.noconvert().none(),
        "classes"_a, "weight"_a.noconvert().none(), "at"_a.noconvert(), "code"_a.noconvert(), "total"_a.noconvert(),
        "added"_a, "out"_a.noconvert());
}

}  // namespace

void bind_texts(nb::module_& m) {
    isascii = nb::str("isascii").release().ptr();
    const std::string name = nb::cast<std::string>(m.attr("__name__")) + ".BadDocument";
    nb::object bad_document = nb::steal(PyErr_NewExceptionWithDoc(
        name.c_str(), "A document that cannot be read: its number, the position in it, and what is there.",
        PyExc_ValueError, nullptr));
    m.attr("BadDocument") = bad_document;
    nb::register_exception_translator(
        [](const std::exception_ptr& thrown, void* refused) {
            try {
                std::rethrow_exception(thrown);
            } catch (const BadDocument& bad) {
                nb::tuple args = nb::make_tuple(bad.document, bad.position, bad.found.c_str());
                PyErr_SetObject(static_cast<PyObject*>(refused), args.ptr());
            }
        },
        bad_document.release().ptr());  // never freed: documents may be refused until the process ends

    nb::class_<TextList>(m, "Texts", "Documents, in the memory of whoever holds them.")
        .def(nb::init<>())
        .def("__len__",
             [](const TextList& list) {
                 nb::ft_lock_guard hold(list.lock);
                 return list.view().n;
             })
        .def("add_strings", &add_strings, "texts"_a,
             "Add str, bytes and None; return the position of anything else, or -1.")
        .def("add_arrow", &add_arrow<std::int32_t>, "text"_a.noconvert(), "start"_a.noconvert(),
             "present"_a.noconvert().none())
        .def("add_arrow", &add_arrow<std::int64_t>, "text"_a.noconvert(), "start"_a.noconvert(),
             "present"_a.noconvert().none())
        .def("set_tokens", &set_tokens, "text"_a.noconvert(), "start"_a.noconvert(), "document_start"_a.noconvert(),
             "present"_a.noconvert() = nb::none(), "Take documents that are already cut into tokens.")
        .def("take", &take, "rows"_a.noconvert())
        .def(
            "missing",
            [](const TextList& list, Out<bool> out) {
                nb::ft_lock_guard hold(list.lock);
                const Texts texts = list.view();
                require(Index(out.size()) == texts.n, "output size");
                for (Index i = 0; i < texts.n; ++i) out.data()[i] = texts.missing(i);
            },
            "out"_a.noconvert())
        .def(
            "sizes",
            [](const TextList& list, Out<Index> out) {
                nb::ft_lock_guard hold(list.lock);
                const Texts texts = list.view();
                require(Index(out.size()) == texts.n, "output size");
                for (Index i = 0; i < texts.n; ++i) out.data()[i] = texts.size(i);
            },
            "out"_a.noconvert())
        .def(
            "hashes",
            [](const TextList& list, Out<std::uint64_t> out) {
                const Texts texts = list.read();
                require(Index(out.size()) == texts.n, "output size");
                nb::gil_scoped_release release;
                text_hashes(texts, out.data());
            },
            "out"_a.noconvert());

    nb::class_<OwnedTokenization>(m, "Tokenization", "How documents become features; options are numbers.")
        .def(
            "__init__",
            [](OwnedTokenization* own, bool lowercase, int accents, int analyzer, int least, int most, Index buckets,
               Bytes text, Places start, Places target) {
                require(accents >= 0 && accents <= 2 && analyzer >= 0 && analyzer <= 2, "options by number");
                const TokenOptions tokens{lowercase, Accents(accents), Analyzer(analyzer), least, most};
                require(1 <= least && least <= most, "sizes of n-grams");
                require(most <= most_words || tokens.analyzer != Analyzer::word, "n-grams of more than 255 words");
                require(buckets >= 0 && buckets <= (Index(1) << 28),
                        "at most 2^28 buckets");  // a bucket is named by 7 digits
                OwnedTokenization made{{tokens, least, most, buckets, {}}};
                set_replaced(made, text, start, target);
                new (own) OwnedTokenization(std::move(made));
            },
            "lowercase"_a, "accents"_a, "analyzer"_a, "least"_a, "most"_a, "buckets"_a, "replaced"_a.noconvert(),
            "replaced_start"_a.noconvert(), "replaced_target"_a.noconvert());

    nb::class_<OwnedLexicon>(m, "Lexicon", "A vocabulary ready to be looked up.")
        .def(
            "__init__",
            [](OwnedLexicon* own, Bytes text, Places start, const OwnedTokenization& tokenization,
               std::optional<Bytes> tier) {
                const View view = view_of(text, start);
                require(Index(text.size()) >= start(view.n) + 8, "8 bytes are read at a time");
                require(!tier || Index(tier->size()) == view.n, "a tier for each feature");
                const std::uint8_t* tiers = tier ? tier->data() : nullptr;
                nb::gil_scoped_release release;
                new (own) OwnedLexicon{tokenization, fixed_lexicon(view, tokenization.tokenization, tiers)};
            },
            "text"_a.noconvert(), "start"_a.noconvert(), "tokenization"_a, "tier"_a.noconvert() = nb::none())
        .def("__len__", [](const OwnedLexicon& own) { return own.fixed.size; });

    nb::class_<ScoreTable>(m, "ScoreTable", "The coefficients of the features of a lexicon, ready to be added.")
        .def(
            "__init__",
            [](ScoreTable* own, const OwnedLexicon& lexicon, Places at, Vector<std::int32_t> code, Vector<double> coef,
               Index classes) {
                require(classes > 0, "a number of classes");
                const Entries entries = entries_of(at, code, classes);
                require(coef.size() == code.size() && entries.features == lexicon.fixed.size, "sizes");
                nb::gil_scoped_release release;
                new (own) ScoreTable(lexicon.fixed, entries, coef.data(), classes);
            },
            "lexicon"_a, "at"_a.noconvert(), "code"_a.noconvert(), "coef"_a.noconvert(), "classes"_a);

    m.def(
        "word_totals",
        [](const TextList& list, Vector<std::int32_t> codes, Index classes, Weights weight,
           const OwnedTokenization& tokenization, int term, int norm, bool exact, Places kept) {
            const Texts texts = list.read();
            const Rows rows = rows_of(codes, weight, classes, texts.n);
            for (std::size_t k = 0; k < kept.size(); ++k)
                require(0 <= kept(k) && kept(k) < texts.n, "documents to keep must be among the texts");
            const Weighting w = weighting(term, norm);
            WordTotals out;
            {
                nb::gil_scoped_release release;
                out = word_totals(texts, rows, tokenization.tokenization, w, exact, kept.data(), Index(kept.size()));
            }
            auto rest = std::tuple(array(std::move(out.kept_start)), array(std::move(out.kept_feature)),
                                   array(std::move(out.kept_count)));
            return std::tuple(std::move(rest), arrays(std::move(out.names)), array(std::move(out.start)),
                              array(std::move(out.code)), array(std::move(out.total)), array(std::move(out.documents)),
                              array(std::move(out.words)), array(std::move(out.total_low)),
                              array(std::move(out.documents_low)), array(std::move(out.words_low)));
        },
        "Sum features by class: the documents to keep as indptr, indices and data; names, then start, code and total "
        "of "
        "their entries, and the weight of documents and words; if exact, also what rounding took from the three sums.",
        "texts"_a, "codes"_a.noconvert(), "classes"_a, "weight"_a.noconvert().none(), "tokenization"_a, "term"_a,
        "norm"_a, "exact"_a, "kept"_a.noconvert());
    m.def(
        "word_matrix",
        [](const TextList& list, const OwnedTokenization& tokenization) {
            const Texts texts = list.read();
            WordMatrix<std::int64_t> out;
            {
                nb::gil_scoped_release release;
                out = word_matrix(texts, tokenization.tokenization);
            }
            return std::tuple(arrays(std::move(out.names)), array(std::move(out.start)), array(std::move(out.feature)),
                              array(std::move(out.value)));
        },
        "Count all features: names, then indptr, indices and data of a CSR matrix.", "texts"_a, "tokenization"_a);
    m.def(
        "count_words",
        [](const TextList& list, const OwnedLexicon& lexicon) {
            const Texts texts = list.read();
            WordMatrix<std::int64_t> out;
            {
                nb::gil_scoped_release release;
                out = word_matrix<std::int64_t>(texts, lexicon.tokenization.tokenization, lexicon.fixed, {});
            }
            return std::tuple(array(std::move(out.start)), array(std::move(out.feature)), array(std::move(out.value)));
        },
        "Count the features of a lexicon: indptr, indices and data of a CSR matrix.", "texts"_a, "lexicon"_a);
    m.def(
        "weigh_words",
        [](const TextList& list, const OwnedLexicon& lexicon, int term, int norm) {
            const Texts texts = list.read();
            const Weighting w = weighting(term, norm);
            WordMatrix<double> out;
            {
                nb::gil_scoped_release release;
                out = word_matrix<double>(texts, lexicon.tokenization.tokenization, lexicon.fixed, w);
            }
            return std::tuple(array(std::move(out.start)), array(std::move(out.feature)), array(std::move(out.value)),
                              array(std::move(out.words)), array(std::move(out.unknown)));
        },
        "Weigh the features of a lexicon: indptr, indices and data, words of each row, and sums of unknown features.",
        "texts"_a, "lexicon"_a, "term"_a, "norm"_a);
    m.def(
        "word_scores",
        [](const TextList& list, const OwnedLexicon& lexicon, int term, int norm, const ScoreTable& table,
           Vector<double> base, Vector<double> length, double exponent, Out<double> out) {
            const Texts texts = list.read();
            const Weighting w = weighting(term, norm);
            const Tokenization& tokenization = lexicon.tokenization.tokenization;
            const Index sizes = tokenization.n_sizes();
            require(Index(length.size()) == sizes && Index(base.size()) == sizes * table.classes,
                    "a row for each size");
            require(table.row.size() == lexicon.fixed.feature.size(), "the table of another lexicon");
            require(Index(out.size()) == texts.n * table.classes, "output size");
            const LinearScores scores{base.data(), length.data(), exponent};
            nb::gil_scoped_release release;
            word_scores(texts, tokenization, lexicon.fixed.lexicon, w, table, scores, out.data());
        },
        "Write scores that are linear in the weighted features of documents, (documents, classes).", "texts"_a,
        "lexicon"_a, "term"_a, "norm"_a, "table"_a, "base"_a.noconvert(), "length"_a.noconvert(), "exponent"_a,
        "out"_a.noconvert());
    m.def(
        "merge_names",
        [](Bytes text_a, Places start_a, Bytes text_b, Places start_b) {
            const View a = view_of(text_a, start_a), b = view_of(text_b, start_b);
            Merged out;
            {
                nb::gil_scoped_release release;
                out = merge_names(a, b);
            }
            return std::tuple(arrays(std::move(out.names)), array(std::move(out.place_a)),
                              array(std::move(out.place_b)));
        },
        "Merge two sorted vocabularies: names, and the position of each name of either.", "text_a"_a.noconvert(),
        "start_a"_a.noconvert(), "text_b"_a.noconvert(), "start_b"_a.noconvert());
    m.def(
        "find_names",
        [](Bytes text, Places start, Bytes among_text, Places among_start, Out<Index> out) {
            const View names = view_of(text, start);
            require(Index(out.size()) == names.n && among_start.size() > 0, "output size");
            const View among{among_text.data(), among_start.data(), Index(among_start.size()) - 1};
            nb::gil_scoped_release release;
            find_names(names, among, Index(among_text.size()), out.data());
        },
        "Write the position of each name of a sorted vocabulary in another one, -1 if it is not there.",
        "text"_a.noconvert(), "start"_a.noconvert(), "among_text"_a.noconvert(), "among_start"_a.noconvert(),
        "out"_a.noconvert());
    m.def(
        "name_sizes",
        [](Bytes text, Places start, Index least, Index most, Out<std::uint8_t> out) {
            const View names = view_of(text, start);
            require(Index(out.size()) == names.n && most < 256, "output size");
            nb::gil_scoped_release release;
            name_sizes(names, least, most, out.data());
        },
        "Write how many words each name has, less `least`, between 0 and `most`.", "text"_a.noconvert(),
        "start"_a.noconvert(), "least"_a, "most"_a, "out"_a.noconvert());
    bind_bags(m);
    bind_tokens(m);
}

}  // namespace suffice
