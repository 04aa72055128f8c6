"""The public names and the modules that hold them; `rrstats/__init__.py` reads this file."""

from rrstats import datasets as datasets
from rrstats import errors as errors
from rrstats import estimators as estimators
from rrstats import files as files
from rrstats import mechanisms as mechanisms
from rrstats import planning as planning
from rrstats import privacy as privacy
from rrstats import regression as regression
from rrstats._version import __version__ as __version__
from rrstats.auditing import audit as audit
from rrstats.estimation import hypothesis_tests as _hypothesis_tests
from rrstats.estimation.estimates.association import correlations as correlations
from rrstats.estimation.estimates.crosstab import crosstab as crosstab
from rrstats.estimation.estimates.estimate import estimate as estimate
from rrstats.estimation.estimates.means import means as means
from rrstats.estimation.estimates.quantiles import quantiles as quantiles
from rrstats.estimation.hypothesis_tests.difference import difference as difference
from rrstats.estimation.report_columns.sample_design import SampleDesign as SampleDesign
from rrstats.estimation.tallies.tally import Tally as Tally
from rrstats.estimation.tallies.tally import tally as tally
from rrstats.mechanisms import surveys as surveys
from rrstats.mechanisms.krr import KRR as KRR
from rrstats.mechanisms.matrix_design import MatrixDesign as MatrixDesign
from rrstats.mechanisms.number_design import number as number
from rrstats.privacy import explain as explain
from rrstats.privatization import single as _single
from rrstats.privatization.frame import check as check
from rrstats.privatization.frame import privatize as privatize
from rrstats.privatization.frame import simulate as simulate
from rrstats.regression.models import linear as linear
from rrstats.regression.models import logit as logit

client = _single
hypotheses = _hypothesis_tests
