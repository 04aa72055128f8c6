"""The public names and the modules that hold them; `rrstats/__init__.py` reads this file."""

from rrstats import datasets as datasets
from rrstats import errors as errors
from rrstats import estimators as estimators
from rrstats import files as files
from rrstats import metadata as metadata
from rrstats import planning as planning
from rrstats import privacy as privacy
from rrstats._version import __version__ as __version__
from rrstats.accessor import FrameAccessor as FrameAccessor
from rrstats.accessor import SeriesAccessor as SeriesAccessor
from rrstats.auditing import audit as audit
from rrstats.estimation import hypothesis_tests as _hypothesis_tests
from rrstats.estimation.estimates.association import correlations as correlations
from rrstats.estimation.estimates.crosstab import Crosstab as Crosstab
from rrstats.estimation.estimates.crosstab import crosstab as crosstab
from rrstats.estimation.estimates.estimate import Estimate as Estimate
from rrstats.estimation.estimates.estimate import estimate as estimate
from rrstats.estimation.estimates.means import means as means
from rrstats.estimation.estimates.posterior import posterior as posterior
from rrstats.estimation.estimates.quantiles import quantiles as quantiles
from rrstats.estimation.hypothesis_tests.difference import difference as difference
from rrstats.estimation.hypothesis_tests.pairwise import pairwise as pairwise
from rrstats.estimation.report_columns.sample_design import SampleDesign as SampleDesign
from rrstats.estimation.tallies.tally import Tally as Tally
from rrstats.estimation.tallies.tally import tally as tally
from rrstats.mechanisms import surveys as surveys
from rrstats.mechanisms.base import Mechanism as Mechanism
from rrstats.mechanisms.epsilon import epsilon_from_prob as epsilon_from_prob
from rrstats.mechanisms.epsilon import prob_from_epsilon as prob_from_epsilon
from rrstats.mechanisms.krr import KRR as KRR
from rrstats.mechanisms.krr import two_rounds as two_rounds
from rrstats.mechanisms.matrix_design import MatrixDesign as MatrixDesign
from rrstats.mechanisms.samples import Samples as Samples
from rrstats.mechanisms.subset_selection import SubsetSelection as SubsetSelection
from rrstats.mechanisms.unary import Rappor as Rappor
from rrstats.mechanisms.unary import UnaryEncoding as UnaryEncoding
from rrstats.privacy import explain as explain
from rrstats.privatization import single as _single
from rrstats.privatization.frame import check as check
from rrstats.privatization.frame import instantaneous as instantaneous
from rrstats.privatization.frame import privatize as privatize
from rrstats.privatization.frame import simulate as simulate
from rrstats.privatization.frame_plan import FramePlan as FramePlan
from rrstats.randomness.keyed import Key as Key
from rrstats.randomness.keyed import new_key as new_key
from rrstats.randomness.sources import SecureGenerator as SecureGenerator
from rrstats.regression.list_experiment import list_regression as list_regression
from rrstats.regression.list_experiment import list_with_direct as list_with_direct
from rrstats.regression.models import linear as linear
from rrstats.regression.models import logit as logit

client = _single
hypotheses = _hypothesis_tests
