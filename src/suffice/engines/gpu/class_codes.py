"""The labels and weights of rows on a device: numbered and checked there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.core.arrays import LEAST_WEIGHT, MOST_WEIGHT, Values, as_weight
from suffice.core.errors import InvalidDataError, MissingLabelError
from suffice.core.labels import encode_labels
from suffice.engines.gpu.device import Device

MOST_DENSE = 1 << 24  # integers from the least to the largest label, of which a table is made
THREADS = 256


@dataclass(frozen=True)
class DeviceLabels:
    """The label of row i is `values[codes[i]]`; values are on the host, codes on the device. −1 is no label."""

    values: Values
    codes: Any
    missing: int = 0  # rows without a label
    first: int = 0  # the first of them

    def __len__(self) -> int:
        return len(self.codes)

    def refuse_missing(self) -> None:
        """Raise an error if a row has no label."""
        if self.missing:
            raise MissingLabelError(self.first, self.missing, len(self))


def encode_host(device: Device, y: Any) -> DeviceLabels:
    """Number labels that are on the host, and copy the numbers to the device."""
    labels = encode_labels(y)
    return DeviceLabels(labels.values, device.xp.asarray(labels.codes.astype(np.int32, copy=False)))


def encode_device(device: Device, y: Any) -> DeviceLabels:
    """Number labels that are on the device: their distinct values alone are copied to the host."""
    xp = device.xp
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    if y.ndim != 1:
        raise InvalidDataError(f"y should be a 1d array, got an array of shape {y.shape} instead.")
    if not len(y):
        return DeviceLabels(np.empty(0, np.dtype(y.dtype)), xp.empty(0, np.int32))
    if np.dtype(y.dtype).kind == "f":
        return _encode_floats(device, y)
    low, high = int(y.min()), int(y.max())
    if high - low >= MOST_DENSE or np.dtype(y.dtype) == np.uint64:
        values, codes = xp.unique(y, return_inverse=True)
        return DeviceLabels(device.to_host(values), codes.ravel().astype(np.int32))
    wide = y.dtype if np.dtype(y.dtype) in (np.int32, np.int64) else np.int64 if y.itemsize >= 4 else np.int32
    integers = xp.ascontiguousarray(y, dtype=wide)
    suffix = f"i{np.dtype(integers.dtype).itemsize * 8}"
    found, n, start = xp.zeros(high - low + 1, np.uint8), np.int64(len(y)), np.int64(low)
    blocks = (min(-(-len(y) // THREADS), 4096),)
    device.launch(f"mark_{suffix}", blocks, THREADS, (integers, n, start, found))
    there = np.flatnonzero(device.to_host(found))
    position = np.zeros(high - low + 1, np.int32)
    position[there] = np.arange(len(there))
    codes = xp.empty(len(y), np.int32)
    device.launch(f"number_{suffix}", blocks, THREADS, (integers, n, start, xp.asarray(position), codes))
    return DeviceLabels((there + low).astype(np.dtype(y.dtype)), codes)


def _encode_floats(device: Device, y: Any) -> DeviceLabels:
    """Number labels that are floats; NaN is no label."""
    xp = device.xp
    missing = xp.isnan(y)
    gone = int(missing.sum())
    values, inverse = xp.unique(y if not gone else y[~missing], return_inverse=True)
    codes = xp.full(len(y), -1, np.int32)
    codes[~missing] = inverse.ravel().astype(np.int32)
    return DeviceLabels(device.to_host(values), codes, gone, int(missing.argmax()) if gone else 0)


def read_weight(device: Device, weight: Any, n: int, on_device: bool) -> Any:
    """Return the weights of rows on the device, as float64; refuse those that the host would refuse."""
    if weight is None:
        return None
    if not on_device:
        return device.xp.asarray(as_weight(weight, n))
    wide = device.xp.ascontiguousarray(weight, dtype=np.float64)
    fits = ((wide >= LEAST_WEIGHT) & (wide <= MOST_WEIGHT)) | (wide == 0)
    if wide.shape != (n,) or not bool(fits.all()):
        as_weight(device.to_host(wide), n)  # raises
    return wide


def positions(known: Values, labels: Values, drop: bool = False) -> NDArray[np.int32]:
    """Return the place of each label among the known ones; −1 for one that is not known, which `drop` allows."""
    from suffice.core.errors import MismatchError
    from suffice.core.labels import first_unknown, label_positions

    found = label_positions(labels, known) if len(labels) else np.empty(0, np.int32)
    if found is not None:
        return found
    if not drop:
        raise MismatchError(f"Label {first_unknown(labels, known)!r} was not in the training data")
    each = (label_positions(labels[i : i + 1], known) for i in range(len(labels)))
    return np.array([-1 if place is None else place[0] for place in each], np.int32)
