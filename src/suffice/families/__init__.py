"""Families of class-conditional distributions: how statistics are taken, and what is estimated from them."""

from suffice.families.bernoulli import Bernoulli
from suffice.families.categorical import Categorical
from suffice.families.complement import Complement
from suffice.families.family import Distribution, Family, LinearForm, Table
from suffice.families.gaussian import Gaussian
from suffice.families.kernel import Kernel
from suffice.families.multinomial import Multinomial
from suffice.families.poisson import Poisson

__all__ = [
    "Bernoulli",
    "Categorical",
    "Complement",
    "Distribution",
    "Family",
    "Gaussian",
    "Kernel",
    "LinearForm",
    "Multinomial",
    "Poisson",
    "Table",
]
