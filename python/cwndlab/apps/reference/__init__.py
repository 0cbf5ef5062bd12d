"""What there is: metrics, knobs, queues, applications and impairments."""
