"""A model behind HTTP with FastAPI.

    MODEL=adult.suffice uvicorn serving_app:app --host 127.0.0.1 --port 8000

POST /predict takes rows as JSON, [{"age": 39, "workclass": "Private"}, …]. A column that a row lacks, or that is null,
is missing; a column that the model does not know is refused.
"""

import os
from typing import Any

from fastapi import FastAPI, HTTPException

import suffice as sf

Value = bool | int | float | str | None

clf = sf.load(os.environ["MODEL"])
COLUMNS = [str(name) for name in clf.feature_names_in_]
LABELS = [str(label) for label in clf.classes_]
MOST_ROWS = 100_000

app = FastAPI(title="suffice", description=f"Classes: {', '.join(LABELS)}")


@app.get("/")
def model() -> dict[str, Any]:
    """Return what the model reads and answers."""
    return {"columns": COLUMNS, "classes": LABELS}


@app.post("/predict")
def predict(rows: list[dict[str, Value]]) -> list[dict[str, Any]]:
    """Return the class of each row, and the probability of every class."""
    unknown = sorted({name for row in rows for name in row}.difference(COLUMNS))
    if unknown:
        raise HTTPException(422, f"The model has no columns {unknown[:10]}: it reads {COLUMNS}")
    if not 0 < len(rows) <= MOST_ROWS:
        raise HTTPException(422, f"Expected 1 to {MOST_ROWS} rows, found {len(rows)}")
    try:
        found = clf.predict_proba([{name: row.get(name) for name in COLUMNS} for row in rows])
    except sf.errors.SufficeError as error:
        raise HTTPException(422, str(error)) from error
    return [
        {"class": LABELS[p.index(max(p))], "probability": dict(zip(LABELS, p, strict=True))} for p in found.tolist()
    ]
