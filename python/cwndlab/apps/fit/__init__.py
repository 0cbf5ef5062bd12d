"""From the packets of one flow back to a study: parameters with intervals, or why there are none.

`flow_packets` makes arrays of a capture or of a replay's records, and `deliveries` pairs data with
acknowledgments. `path_estimates`, `full_queue` and `sender_estimates` estimate the path and the sender.
`fitted_study` makes a study of them, and `replays` simulates it around the estimates, which gives the
intervals. `fitting` does all of this for a capture.
"""
