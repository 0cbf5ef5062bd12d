"""Fitting of a study to the packets of one flow: parameters with intervals, or reasons why there are none.

`flow_packets` makes arrays from a capture or from a replay's records, and `deliveries` pairs data with
acknowledgments. `path_estimates`, `full_queue` and `sender_estimates` estimate the path and the sender.
`fitted_study` makes a study from the estimates, and `replays` simulates it around them to obtain the
intervals. `fitting` does all of this for a capture.
"""
