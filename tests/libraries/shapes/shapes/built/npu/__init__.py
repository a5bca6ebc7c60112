class FoldBuilder:
    def load(self):
        return Fold()
