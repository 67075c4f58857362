"""Written by tools/write_stubs.py: families are exported by being defined."""

from typing import Any

from suffice.families._base import Distribution as Distribution
from suffice.families._base import Entrywise as Entrywise
from suffice.families._base import Family as Family
from suffice.families._base import FillMethod as FillMethod
from suffice.families._base import Independent as Independent
from suffice.families._contract import Decisions as Decisions
from suffice.families._contract import KeptRows as KeptRows
from suffice.families._contract import LinearForm as LinearForm
from suffice.families._contract import Summary as Summary
from suffice.families._contract import Support as Support
from suffice.families._contract import Table as Table
from suffice.families.bernoulli import Bernoulli as Bernoulli
from suffice.families.binned import Binned as Binned
from suffice.families.categorical import Categorical as Categorical
from suffice.families.complement import Complement as Complement
from suffice.families.exponential import Exponential as Exponential
from suffice.families.gaussian import Gaussian as Gaussian
from suffice.families.geometric import Geometric as Geometric
from suffice.families.joint_categorical import JointCategorical as JointCategorical
from suffice.families.kernel import Kernel as Kernel
from suffice.families.log_normal import LogNormal as LogNormal
from suffice.families.mixture import Mixture as Mixture
from suffice.families.multinomial import Multinomial as Multinomial
from suffice.families.multivariate_gaussian import MultivariateGaussian as MultivariateGaussian
from suffice.families.poisson import Poisson as Poisson
from suffice.families.text import Text as Text

def named(name: str) -> type[Family[Any]]: ...
def family_names() -> list[str]: ...
