from .boxes import Overlap, distance, either, iou, measured, overlap, pooled, safe_overlap
from .layers import Head, Tower, build
from .operators import gather, warp, warped

__all__ = ["Head", "Overlap", "Tower", "build", "distance", "either", "gather", "iou", "measured", "overlap", "pooled",
           "safe_overlap", "warp", "warped"]
