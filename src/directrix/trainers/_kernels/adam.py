"""Steps of Adam."""

import math

from directrix.kernels import kernel


@kernel
def adam_step(grad, betas, eps, rate, average, t, current, mean, square, total):
    """Move ``current`` at step t, and what `Adam` remembers: the means and the sum of the parameters."""
    beta1, beta2 = betas
    scale, shrink = rate / (1.0 - beta1**t), 1.0 - beta2**t
    # three loops: LLVM makes vectors only where few arrays could overlap
    for p in range(len(grad)):
        mean[p] = beta1 * mean[p] + (1.0 - beta1) * grad[p]
        square[p] = beta2 * square[p] + (1.0 - beta2) * (grad[p] * grad[p])
    for p in range(len(grad)):
        current[p] -= scale * (mean[p] / (math.sqrt(square[p] / shrink) + eps))
    for p in range(len(grad)):
        total[p] = average * total[p] + (1.0 - average) * current[p]
