# The scenario of RFC 2416 on ns-2.35, one run a call; prints the event list seen at the 100 Mb/s link.
#
#   ns rfc2416.tcl VARIANT IW PACKET_BYTES [DURATION_S]
#   VARIANT: tahoe reno newreno sack fack
#
# Output: comment lines (#), a header, then `time_s event packet`, in the order of the simulator's own trace.
#   send, retransmit   data packet handed to the 100 Mb/s link (packets count from 1)
#   ack, dupack        acknowledgment back at the source; packet = highest one acknowledged
#   drop               data packet refused by the queue in front of the 9600 bit/s link
source [file join [file dirname [info script]] common.tcl]
lassign $argv variant iw packet_bytes duration
if {$duration eq ""} { set duration 60 }

one_way_tcp $variant windowInit_ $iw window_ 20 packetSize_ $packet_bytes
set ns [new Simulator]
foreach name {source r1 r2 receiver} { set node($name) [$ns node] }
$ns duplex-link $node(source) $node(r1) 100Mb 0ms DropTail
$ns duplex-link $node(r1) $node(r2) 1.5Mb 25ms DropTail
$ns duplex-link $node(r2) $node(receiver) 9600b 150ms DropTail
foreach {a b limit} {source r1 100 r1 r2 100 r2 receiver 3} {
    # ns-2 refuses a packet when limit - 1 are waiting, so its limit counts the one in service: 3 is the memo's
    # "at most two packets while one is being sent".
    $ns queue-limit $node($a) $node($b) $limit
    $ns queue-limit $node($b) $node($a) $limit
}
observe $ns $node(source) $node(r1) $node(r2) $node(receiver)
start_transfer $ns $node(source) $node(receiver) $variant $duration \
    "RFC 2416 on ns-2.35: $variant, initial window $iw, packets of $packet_bytes bytes, $duration s (rfc2416.tcl)"
