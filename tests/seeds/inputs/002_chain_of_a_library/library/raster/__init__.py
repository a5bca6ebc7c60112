from .rasterise import points_of, splat
