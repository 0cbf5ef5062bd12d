# The scenario of Fall and Floyd (1996) on ns-2.35, one run a call; prints the event list seen at the source.
#
#   ns fall_floyd.tcl VARIANT "PACKETS" [DURATION_S]
#   VARIANT: tahoe reno newreno sack fack;  PACKETS: numbers of the packets dropped once, from 0 as in the paper
#
# Output as rfc2416.tcl's: packets count from 1, `drop` is the scripted loss at the bottleneck.
source [file join [file dirname [info script]] common.tcl]
lassign $argv variant dropped duration
if {$duration eq ""} { set duration 6 }

one_way_tcp $variant windowInit_ 1 window_ 28 packetSize_ 1000 minrto_ 1.0
set ns [new Simulator]
foreach name {s1 r1 k1} { set node($name) [$ns node] }
$ns duplex-link $node(s1) $node(r1) 8Mb 0.1ms DropTail
$ns duplex-link $node(r1) $node(k1) 0.8Mb 100ms DropTail
$ns queue-limit $node(r1) $node(k1) 8
$ns queue-limit $node(k1) $node(r1) 8

set losses [new ErrorModel/List]
$losses droplist $dropped
$losses drop-target [new Agent/Null]
$ns lossmodel $losses $node(r1) $node(k1)

observe $ns $node(s1) $node(r1) $node(r1) $node(k1)
start_transfer $ns $node(s1) $node(k1) $variant $duration \
    "Fall and Floyd 1996 on ns-2.35: $variant, packets $dropped (from 0) dropped once, $duration s (fall_floyd.tcl)"
