"""Families of class-conditional distributions: how statistics are taken, and what is estimated from them."""

from suffice.families._base import Distribution, Family, LinearForm, Table
from suffice.families.bernoulli import Bernoulli
from suffice.families.binned import Binned
from suffice.families.categorical import Categorical
from suffice.families.complement import Complement
from suffice.families.exponential import Exponential
from suffice.families.gaussian import Gaussian
from suffice.families.geometric import Geometric
from suffice.families.joint_categorical import JointCategorical
from suffice.families.kernel import Kernel
from suffice.families.log_normal import LogNormal
from suffice.families.mixture import Mixture
from suffice.families.multinomial import Multinomial
from suffice.families.multivariate_gaussian import MultivariateGaussian
from suffice.families.poisson import Poisson
from suffice.families.text import Text

__all__ = [
    "Bernoulli",
    "Binned",
    "Categorical",
    "Complement",
    "Distribution",
    "Exponential",
    "Family",
    "Gaussian",
    "Geometric",
    "JointCategorical",
    "Kernel",
    "LinearForm",
    "LogNormal",
    "Mixture",
    "Multinomial",
    "MultivariateGaussian",
    "Poisson",
    "Table",
    "Text",
]
