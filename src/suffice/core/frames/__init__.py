"""Tables of any type as named Arrow columns, arrays read from columns, and results in the type of table passed in."""

from suffice.core.frames.arrow_arrays import as_arrow, as_numpy
from suffice.core.frames.columns import categories, label_codes, labels, numbers, texts, weights
from suffice.core.frames.frame import Frame, column_kind
from suffice.core.frames.input import as_frame
from suffice.core.frames.output import prototype, table_like
from suffice.core.frames.profile import ColumnProfile, profiles
from suffice.core.frames.readings import ColumnReading, with_readings
from suffice.core.frames.row_hashes import row_hashes

__all__ = [
    "ColumnProfile",
    "ColumnReading",
    "Frame",
    "as_arrow",
    "as_frame",
    "as_numpy",
    "categories",
    "column_kind",
    "label_codes",
    "labels",
    "numbers",
    "profiles",
    "prototype",
    "row_hashes",
    "table_like",
    "texts",
    "weights",
    "with_readings",
]
