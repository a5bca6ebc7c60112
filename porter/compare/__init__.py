"""Two training runs in; the stage at which they part out. Nothing of a log is ever run, and no path in it is opened."""
