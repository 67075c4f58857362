"""A model behind HTTP with MLflow: this file is the code of the model, and its data are a file of suffice.

    python serving_mlflow.py adult.suffice served
    mlflow models serve --model-uri served --env-manager local --host 127.0.0.1 --port 5000

POST /invocations takes {"dataframe_records": [{"age": 39, "workclass": "Private"}, …]}.
"""

import sys
from typing import Any

import mlflow
import pandas as pd
from mlflow.exceptions import MlflowException

import suffice as sf


class Classifier(mlflow.pyfunc.PythonModel):
    """Returns the probability of every class; refuses columns that the model does not know."""

    def load_context(self, context: Any) -> None:
        """Read the model, once."""
        self.clf = sf.load(context.artifacts["model"])

    def predict(self, context: Any, model_input: pd.DataFrame, params: Any = None) -> pd.DataFrame:  # noqa: ARG002
        """Return p(y | x), a row for each row and a column for each class."""
        columns = [str(name) for name in self.clf.feature_names_in_]
        unknown = sorted(set(model_input.columns).difference(columns))
        if unknown:
            raise MlflowException.invalid_parameter_value(f"The model has no columns {unknown}: it reads {columns}")
        try:
            found = self.clf.predict_proba(model_input.reindex(columns=columns))
        except sf.errors.SufficeError as error:
            raise MlflowException.invalid_parameter_value(str(error)) from error
        return pd.DataFrame(found, columns=[str(label) for label in self.clf.classes_])


if __name__ == "__main__":
    model, folder = sys.argv[1:]
    mlflow.pyfunc.save_model(folder, python_model=__file__, artifacts={"model": model}, pip_requirements=["suffice"])
else:
    mlflow.models.set_model(Classifier())
