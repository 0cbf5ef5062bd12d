# The scenario of RFC 2416 on ns-2.35, one run a call; prints the event list seen at the 100 Mb/s link.
#
#   ns rfc2416.tcl VARIANT IW PACKET_BYTES [DURATION_S]
#   VARIANT: tahoe reno newreno sack fack
#
# Output: comment lines (#), a header, then `time_s event packet`, in the order of the simulator's own trace.
#   send, retransmit   data packet handed to the 100 Mb/s link (packets count from 1)
#   ack, dupack        acknowledgment back at the source; packet = highest one acknowledged
#   drop               data packet refused by the queue in front of the 9600 bit/s link
lassign $argv variant iw packet_bytes duration
if {$duration eq ""} { set duration 60 }

array set agents {tahoe TCP reno TCP/Reno newreno TCP/Newreno sack TCP/Sack1 fack TCP/Fack}
if {![info exists agents($variant)]} {
    puts stderr "unknown variant '$variant': one of [lsort [array names agents]]"
    exit 2
}

# Each agent draws a clock phase when the run begins (`run` resets it), uniformly over one tick. A tick of 1 ns at that
# moment makes the phase zero: a measurement then counts the multiples of 0.1 s passed between send and ACK. The true
# tick is set as the first event of the run.
foreach {knob value} [list \
    tcpTick_ 1e-9  rttvar_init_ 0  rtxcur_init_ 6.0  minrto_ 0  maxrto_ 64  singledup_ 0  syn_ false \
    delay_growth_ false  useHeaders_ false  overhead_ 0  windowInit_ $iw  windowInitOption_ 1  window_ 20 \
    packetSize_ $packet_bytes] {
    Agent/TCP set $knob $value
}
Agent/TCPSink set packetSize_ 40

set ns [new Simulator]
set trace_name [file join /tmp "cwndlab-ns2-[pid].tr"]
set trace [open $trace_name w]

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
$ns trace-queue $node(source) $node(r1) $trace
$ns trace-queue $node(r1) $node(source) $trace
$ns trace-queue $node(r2) $node(receiver) $trace

set tcp [new Agent/$agents($variant)]
set sink [new Agent/TCPSink[expr {$variant in {sack fack} ? "/Sack1" : ""}]]
$ns attach-agent $node(source) $tcp
$ns attach-agent $node(receiver) $sink
$ns connect $tcp $sink
set ftp [new Application/FTP]
$ftp attach-agent $tcp
$ns at 0 "$tcp set tcpTick_ 0.1; $ftp start"
$ns at $duration finish

proc finish {} {
    global ns trace trace_name variant iw packet_bytes duration
    $ns flush-trace
    close $trace
    puts "# RFC 2416 on ns-2.35: $variant, initial window $iw, packets of $packet_bytes bytes, $duration s (rfc2416.tcl)"
    puts "time_s event packet"
    set highest_sent -1
    set highest_ack -1
    set in [open $trace_name]
    while {[gets $in line] >= 0} {
        lassign $line op time from to type size flags flow src dst seq
        if {$op eq "+" && $type eq "tcp" && $from == 0} {
            emit $time [expr {$seq > $highest_sent ? "send" : "retransmit"}] $seq
            if {$seq > $highest_sent} { set highest_sent $seq }
        } elseif {$op eq "r" && $type eq "ack" && $to == 0} {
            emit $time [expr {$seq > $highest_ack ? "ack" : "dupack"}] $seq
            if {$seq > $highest_ack} { set highest_ack $seq }
        } elseif {$op eq "d" && $type eq "tcp" && $from == 2} {
            emit $time drop $seq
        }
    }
    close $in
    file delete $trace_name
    exit 0
}

proc emit {time event seq} { puts [format "%.6f %s %d" $time $event [expr {$seq + 1}]] }

$ns run
