# ns-2's own test suite tcpVariants on ns-2.35, one test a call; prints the event list seen at the source.
#
#   ns tcp_variants.tcl VARIANT "PACKETS" [DURATION_S]
#   VARIANT: tahoe reno newreno sack fack;  PACKETS: numbers of the packets dropped once, from 0, the SYN among them
#
# Topology and settings are those of tcl/test/test-suite-tcpVariants.tcl: the agents as before 2003 and 2006 (NewReno, halving),
# but with the later SYN, headers, clock and initial window of two packets. Output as rfc2416.tcl's, without the SYN.
source [file join [file dirname [info script]] common.tcl]
lassign $argv variant dropped duration
if {$duration eq ""} { set duration 6 }

one_way_tcp $variant windowInit_ 2 window_ 28 packetSize_ 1000 minrto_ 1.0 maxrto_ 60 syn_ true delay_growth_ true \
    useHeaders_ true
set tick 0.01
set start 1.0
set first 0
transfer_with_losses $variant $dropped $duration 0ms \
    "tcpVariants on ns-2.35: $variant, packets $dropped (from 0, the SYN) dropped once, $duration s (tcp_variants.tcl)"
