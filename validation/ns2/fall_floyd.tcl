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
transfer_with_losses $variant $dropped $duration 0.1ms \
    "Fall and Floyd 1996 on ns-2.35: $variant, packets $dropped (from 0) dropped once, $duration s (fall_floyd.tcl)"
