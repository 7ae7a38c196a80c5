"""Public names for type checkers; written by tests/test_public_names.py."""

from directrix.torch.encoders import CrossEncoderLoss as CrossEncoderLoss
from directrix.torch.encoders import RetrievalLoss as RetrievalLoss
from directrix.torch.laws import check_loss as check_loss
from directrix.torch.losses import Loss as Loss
from directrix.torch.losses import TensorMeasure as TensorMeasure
from directrix.torch.losses import loss as loss
from directrix.torch.losses import measure as measure

__all__: list[str]
