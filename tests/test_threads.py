"""Estimators that several threads use: no row is lost, and an answer is that of some moment."""

import copy
import multiprocessing
import pickle
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import joblib
import numpy as np
import pytest
from sklearn.base import clone

import suffice as sf
from attacks.targets import estimator_classes, make, rows_for
from suffice import _core
from suffice.estimators._threads import _locks, lock_of
from suffice.naive_bayes import GaussianNB, MultinomialNB

CLASSES = estimator_classes()
THREADS = 20

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(autouse=True)
def switching():
    """Let threads take turns as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def together(*steps):
    """Run each function in a thread of its own, all from the same moment on."""
    ready = threading.Barrier(len(steps))

    def run(step):
        ready.wait()
        return step()

    with ThreadPoolExecutor(len(steps)) as pool:
        return [each.result() for each in [pool.submit(run, step) for step in steps]]


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_no_row_is_lost_when_many_threads_learn(cls):
    rows, labels = rows_for(cls), ["a", "b", "c"] * 4
    model = make(cls).fit(rows, labels)

    def learn():
        for i in range(0, 12, 3):
            model.partial_fit(rows[i : i + 3], labels[i : i + 3])

    together(*[learn] * THREADS)
    np.testing.assert_array_equal(model.class_count_, np.full(3, 4.0 * (1 + THREADS)))
    together(*[lambda: model.forget(rows, labels)] * THREADS)
    np.testing.assert_array_equal(model.class_count_, np.full(3, 4.0))


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_fits_and_answers_at_once_on_rows_of_several_blocks_are_those_of_one_thread(cls):
    n = 80_000  # every kernel splits it, and starts threads of its own
    rows, labels = rows_for(cls, n), np.arange(n) % 3

    def learn():
        return make(cls).fit(rows, labels)

    fitted = learn()

    def answers(model):
        return [model.predict_proba(rows).tobytes(), model.predict(rows).tobytes(), model.class_count_.tobytes()]

    expected = answers(fitted)
    found = together(*[lambda: answers(fitted)] * 2, *[lambda: answers(learn())] * 2)
    assert all(each == expected for each in found)


@pytest.mark.parametrize("cls", [GaussianNB, MultinomialNB, sf.TextClassifier], ids=lambda cls: cls.__name__)
def test_answers_while_others_learn_are_those_of_some_moment(cls):
    rows, labels = rows_for(cls, 48), ["a", "b"] * 24
    model, known = make(cls).fit(rows[:8], labels[:8]), []
    whole = copy.deepcopy(model)
    known.append(whole.predict_proba(rows[:5]).tobytes())
    for i in range(8, 48, 2):
        whole.partial_fit(rows[i : i + 2], labels[i : i + 2])
        known.append(whole.predict_proba(rows[:5]).tobytes())
    done = threading.Event()

    def learn():
        for i in range(8, 48, 2):
            model.partial_fit(rows[i : i + 2], labels[i : i + 2])
        done.set()

    def ask():
        found = []
        while not done.is_set():
            found.append(model.predict_proba(rows[:5]).tobytes())
        return [known.index(each) for each in found]  # raises an error for an answer of no moment

    for found in together(learn, *[ask] * 4)[1:]:
        assert found == sorted(found), "what was learned once stays learned"
    assert model.predict_proba(rows[:5]).tobytes() == known[-1]


def test_an_answer_never_mixes_two_fits():
    rng = np.random.default_rng(0)
    wide, narrow, labels = rng.normal(size=(40, 5)), rng.normal(size=(40, 2)), np.arange(40) % 2
    model, done = GaussianNB().fit(wide, labels), threading.Event()
    expected = {rows.shape[1]: GaussianNB().fit(rows, labels).predict_proba(rows) for rows in (wide, narrow)}

    def refit():
        for i in range(150):
            model.fit(narrow if i % 2 else wide, labels)
        done.set()

    def ask():
        answered = 0
        while not done.is_set():
            for rows in (wide, narrow):
                with suppress(ValueError):  # the model is of the other rows
                    found = model.predict_proba(rows)
                    answered += 1
                    assert np.array_equal(found, expected[rows.shape[1]])
        return answered

    assert sum(together(refit, ask, ask)[1:]) > 0


def test_a_parameter_that_is_set_while_rows_are_learned_stays_set():
    model, started, go_on = GaussianNB(), threading.Event(), threading.Event()

    class Slow:
        def __array__(self, dtype=None, copy=None):  # NumPy's signature
            started.set()
            go_on.wait(10)
            return np.arange(8.0).reshape(4, 2)

    thread = threading.Thread(target=model.fit, args=(Slow(), [0, 1, 0, 1]))
    thread.start()
    started.wait(10)
    model.set_params(var_smoothing=0.5)
    go_on.set()
    thread.join()
    assert model.var_smoothing == 0.5
    np.testing.assert_array_equal(model.class_count_, [2, 2])


class Held:
    """A context in which another thread holds the lock of an estimator."""

    def __init__(self, model):
        self.model, self.held, self.let_go = model, threading.Event(), threading.Event()
        self.thread = threading.Thread(target=self.hold)

    def hold(self):
        with lock_of(self.model):
            self.held.set()
            self.let_go.wait(30)

    def __enter__(self):
        self.thread.start()
        self.held.wait(10)

    def __exit__(self, *_):
        self.let_go.set()
        self.thread.join()


def learned_in_child(model, rows, labels, answers):
    answers.put(model.partial_fit(rows, labels).class_count_.tolist())


@pytest.mark.parametrize("cls", [GaussianNB, sf.BayesClassifier, sf.TextClassifier], ids=lambda cls: cls.__name__)
def test_copies_of_an_estimator_whose_lock_is_held_learn_at_once(cls):
    rows, labels = rows_for(cls), ["a", "b"] * 6
    model = make(cls).fit(rows, labels)
    with Held(model):
        assert model.predict(rows).shape == (12,), "answers wait for no lock"
        copies = [clone(model).fit(rows, labels), copy.copy(model), copy.deepcopy(model)]
        copies += [pickle.loads(pickle.dumps(model)), model + model]
        for made in copies:
            before = made.class_count_.sum()
            assert made.partial_fit(rows, labels).class_count_.sum() == before + 12
        found = joblib.Parallel(n_jobs=2)([joblib.delayed(cls.partial_fit)(model, rows, labels)])[0]
        np.testing.assert_array_equal(found.class_count_, [12, 12])


@pytest.mark.skipif(not hasattr(multiprocessing, "get_context") or sys.platform == "win32", reason="nothing forks here")
def test_a_forked_process_learns_although_a_thread_held_the_lock():
    rows, labels = rows_for(GaussianNB), ["a", "b"] * 6
    model, forking = GaussianNB().fit(rows, labels), multiprocessing.get_context("fork")
    answers = forking.SimpleQueue()
    with Held(model):
        child = forking.Process(target=learned_in_child, args=(model, rows, labels, answers))
        child.start()
        child.join(30)
        assert child.exitcode == 0
    assert answers.get() == [12.0, 12.0]


def test_locks_are_no_part_of_an_estimator_and_go_with_it():
    model = GaussianNB()
    assert "lock" not in repr(vars(model))
    model.fit([[0.0], [1.0]], [0, 1])
    assert id(model) in _locks
    key = id(model)
    del model
    assert key not in _locks


def test_a_bag_of_words_that_is_fitted_again_answers_with_one_of_its_vocabularies():
    bag, done = sf.BagOfWords(use_idf=True), threading.Event()
    texts = [["red green", "red blue"], ["one two three", "two three four"]]
    expected = [copy.copy(bag).fit(each).transform(["red two"]).toarray().tobytes() for each in texts]
    bag.fit(texts[0])

    def refit():
        for i in range(60):
            bag.fit(texts[i % 2])
        done.set()

    def ask():
        while not done.is_set():
            assert bag.transform(["red two"]).toarray().tobytes() in expected

    together(refit, ask, ask)


def test_texts_that_are_read_while_others_are_added_are_those_of_one_moment():
    for _ in range(20):
        texts, sizes = _core.Texts(), []

        def add(texts=texts):
            with suppress(ValueError):  # once they are read, none is added
                for i in range(50):
                    texts.add_strings((f"word {i} é",) * 20)

        def read(texts=texts, sizes=sizes):
            while not sizes:
                n = len(texts)
                with suppress(ValueError):  # the output is too short for those that were added since
                    texts.hashes(np.empty(n, np.uint64))
                    sizes.append(n)

        together(add, add, add, read)
        assert sizes == [len(texts)]
