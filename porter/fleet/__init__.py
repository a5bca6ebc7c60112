"""Many repositories, each analysed as if it were alone, and one page that ranks them."""
