"""Extensions that are compiled when they are first asked for."""


class Builder:
    def load(self):
        return compile_and_load(self.sources())


class WarpBuilder(Builder):
    def sources(self):
        return ["csrc/jit/warp.cpp", "csrc/jit/warp.cu"]


class FoldBuilder(Builder):
    def sources(self):
        return ["csrc/jit/fold.cpp", "csrc/jit/warp.cu"]


class CountBuilder(Builder):
    def sources(self):
        return ["csrc/jit/count.cpp"]
