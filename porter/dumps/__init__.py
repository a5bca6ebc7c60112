"""Two dumps of msProbe compared: the first module whose outputs differ by more than its inputs account for, or why none can be named.

What *differs* is. Of statistics, the largest of four relative distances: of Norm by Norm, of Mean by the root mean square, of Max and
of Min by the largest magnitude. Of tensors, the norm of the difference by the norm of the baseline, and the cosine beside it. Of md5,
same or not the same. Another shape, or a number on one side alone, differs without measure.

What *more* is. A call is at fault where its outputs differ, its inputs and weights do not, and the difference is above what rounding
explains: the unit of its coarsest type (tolerance.py) times how badly conditioned the call is (inputs much larger than outputs, as where
they cancel), and no less than a multiple of how far its inputs, the calls within it and, of statistics, all calls before it are apart:
statistics show a part of that. Inputs may be as far apart as the calls before have made them by rounding. Calls are asked in the order in
which they end, so that the innermost module comes first; a call within a module whose own outputs are as near as all before has no effect,
and is passed over.

Noise. The type is the coarsest of the call's tensors; of statistics, once values have gone through a half, what follows
carries its rounding. Where
one side computes in another type throughout, that type's unit counts, and the answer says so; in a few calls only, it is a fault like
any other. Where the very first product and all later ones differ by ten bits of mantissa, TF32 or HF32 is the answer, and no module.

What else is said. Inputs that differ before anything has computed: the data. Weights that differ: of a few modules, the first of
them; of most, another seed or checkpoint, not comparable; after a step that agrees, the update. An input that differs and that
no recorded call made: the module around it, if its own inputs agree and its outputs do not; else the place between two calls.
The backward pass is asked only where the forward pass agrees; its inputs are the gradients of outputs. Dropout that is on in both,
a choice (topk) after rounding, indices of which only the range is known, md5 alone, statistics of halves that are little beyond rounding,
TF32, names that do not align, a dump that ends early: not enough evidence, with the place from which on it is missing. None of these
names a module as the one at fault.
"""
