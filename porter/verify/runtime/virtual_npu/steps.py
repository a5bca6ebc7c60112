"""How many steps of training a program has done, and when it has done as many as were asked for."""

import functools
import os
import weakref

from torch.optim import optimizer as optimisers


class Enough(SystemExit):
    """The number of steps that was asked for is done."""


class Steps:
    def __init__(self):
        self.limit = int(os.environ.get("VIRTUAL_NPU_STEPS") or 0)
        self.done = self.backwards = 0
        self.stepped = []  # the optimisers that took the step, weakly, and the parameters they moved
        self.made_optimiser = False
        begin = optimisers.Optimizer.__init__

        @functools.wraps(begin)
        def recorded(optimiser, *args, **kwargs):
            self.made_optimiser = True
            begin(optimiser, *args, **kwargs)

        optimisers.Optimizer.__init__ = recorded

    def count(self, optimiser):
        """Two optimisers take a step together, unless they move the same parameters, or one of them is gone."""
        moved = {id(parameter) for group in optimiser.param_groups for parameter in group["params"]}
        others = [(other, parameters) for other, parameters in self.stepped if other() is not None]
        if not others or any(other() is optimiser or parameters & moved for other, parameters in others):
            self.done, others = self.done + 1, []
        self.stepped = [*others, (weakref.ref(optimiser), moved)]

    def after_backward(self):
        """Where weights, or inputs, are moved by hand, a step is a backward()."""
        if not self.made_optimiser:
            self.backwards += 1
            self.stop_after(self.backwards)

    def stop_after(self, steps):
        if self.limit and steps >= self.limit:
            raise Enough(0)
