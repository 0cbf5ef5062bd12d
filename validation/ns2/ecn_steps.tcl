# An ECN flow over a queue that marks each packet which finds three waiting, on ns-2.35; prints the event list of the source.
#
#   ns ecn_steps.tcl VARIANT LIMIT [DURATION_S]
#   VARIANT: tahoe reno newreno sack;  LIMIT: packets that may wait, beyond it they are dropped
#
# The step is RED without chance: weight 1, so that the average is the queue, nothing below the upper threshold, and above
# it everything is marked (mark_p_ above any probability). Output as rfc2416.tcl's.
source [file join [file dirname [info script]] common.tcl]
lassign $argv variant limit duration
if {$duration eq ""} { set duration 6 }

one_way_tcp $variant windowInit_ 1 window_ 20 packetSize_ 1000 ecn_ 1
foreach {knob value} {
    bytes_ false  queue_in_bytes_ false  thresh_ 0.5  maxthresh_ 3  linterm_ 1e12  q_weight_ 1  mean_pktsize_ 1000
    gentle_ false  adaptive_ 0  setbit_ true  use_mark_p_ true  mark_p_ 2  wait_ false
} {
    Queue/RED set $knob $value
}
set ns [new Simulator]
foreach name {source router receiver} { set node($name) [$ns node] }
$ns duplex-link $node(source) $node(router) 10Mb 0ms DropTail
$ns simplex-link $node(router) $node(receiver) 1.5Mb 20ms RED
$ns simplex-link $node(receiver) $node(router) 1.5Mb 20ms DropTail
foreach {a b} {source router router source receiver router} { $ns queue-limit $node($a) $node($b) 1000 }
$ns queue-limit $node(router) $node(receiver) $limit
observe $ns $node(source) $node(router) $node(router) $node(receiver)
start_transfer $ns $node(source) $node(receiver) $variant $duration \
    "step marking at 3 packets on ns-2.35: $variant with ECN, limit $limit, $duration s (ecn_steps.tcl)"
