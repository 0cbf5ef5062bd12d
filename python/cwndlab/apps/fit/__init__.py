"""Fitting of a study to the packets of one flow: parameters with intervals, or reasons why there are none.

`path_estimates`, `full_queue` and `sender_estimates` estimate the path and the sender from the flow's
packets, which `apps/captures` reads. `fitted_study` makes a study from the estimates. `replays` draws random
paths near the estimated one and simulates the flow on each, from which the intervals follow. `fitting` does
all of this for a capture.
"""
