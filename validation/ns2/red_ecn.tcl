# Three cells of RFC 2884's kind on ns-2.35: an ECN and a non-ECN flow from 20 s on, beside non-ECN flows from 0 s on, all of
# Reno, over RED on a line of 1.5 Mb/s.
#   ns red_ecn.tcl BACKGROUND MAX_P WAIT(0|1) SEED SECONDS
# prints a line of CSV, its columns being those of golden/ns2/red_ecn.csv:
#   throughputs (kb/s) of the two flows over their time; marks and drops of the ECN flow, drops of the other and of the
#   background; the mean of RED's average from 20 s on, sampled every 10 ms (packets).
# RED's own draws are all that is random.
if {$argc != 5} {
    puts stderr "usage: ns red_ecn.tcl BACKGROUND MAX_P WAIT(0|1) SEED SECONDS"
    exit 2
}
source [file join [file dirname [info script]] common.tcl]
lassign $argv background max_p wait seed seconds
set begin 20.0

one_way_tcp reno windowInit_ 1 window_ 20 packetSize_ 1000
foreach {knob value} {
    bytes_ false  queue_in_bytes_ false  thresh_ 5  maxthresh_ 15  q_weight_ 0.002  mean_pktsize_ 1000
    gentle_ false  adaptive_ 0  setbit_ true  use_mark_p_ false
} {
    Queue/RED set $knob $value
}
Queue/RED set linterm_ [expr {1.0 / $max_p}]
Queue/RED set wait_ $wait

set ns [new Simulator]
ns-random $seed
foreach name {server r1 r2 client} { set node($name) [$ns node] }
$ns duplex-link $node(server) $node(r1) 10Mb 0ms DropTail
$ns simplex-link $node(r1) $node(r2) 1.5Mb 20ms RED
$ns simplex-link $node(r2) $node(r1) 1.5Mb 20ms DropTail
$ns duplex-link $node(r2) $node(client) 10Mb 0ms DropTail
foreach {a b limit} {server r1 10000 r1 server 10000 r1 r2 60 r2 r1 10000 r2 client 10000 client r2 10000} {
    $ns queue-limit $node($a) $node($b) $limit
}
set trace_name [file join /tmp "cwndlab-ns2-[pid].tr"]
set trace [open $trace_name w]
$ns trace-queue $node(r1) $node(r2) $trace
set red [[$ns link $node(r1) $node(r2)] queue]

proc flow {id ecn at} {
    global ns node
    set tcp [new Agent/TCP/Reno]
    set sink [new Agent/TCPSink]
    $ns attach-agent $node(server) $tcp
    $ns attach-agent $node(client) $sink
    $ns connect $tcp $sink
    $tcp set ecn_ $ecn
    $tcp set fid_ $id
    $ns at $at "$tcp set tcpTick_ 0.1; $tcp send -1"
    return $tcp
}
set with [flow 1 1 $begin]
set without [flow 2 0 $begin]
for {set i 0} {$i < $background} {incr i} { flow 3 0 [expr {0.5 * $i}] }

set samples 0
set averages 0.0
proc sample {} {
    global ns red samples averages
    incr samples
    set averages [expr {$averages + [$red set ave_]}]
    $ns at [expr {[$ns now] + 0.01}] sample
}
$ns at $begin sample

proc finish {} {
    global ns trace trace_name with without samples averages background max_p wait seed seconds begin
    $ns flush-trace
    close $trace
    foreach id {1 2 3} { set marks($id) 0; set drops($id) 0 }
    set in [open $trace_name]
    while {[gets $in line] >= 0} {
        lassign $line op time from to type size flags id
        # The fifth flag is CE, the way a packet leaves the queue.
        if {$op eq "-" && [string index $flags 4] eq "E"} { incr marks($id) }
        if {$op eq "d"} { incr drops($id) }
    }
    close $in
    file delete $trace_name
    set fields [list $background $max_p $wait $seed]
    foreach tcp [list $with $without] {
        lappend fields [format %.3f [expr {([$tcp set ack_] + 1) * 8.0 / ($seconds - $begin)}]]
    }
    lappend fields $marks(1) $drops(1) $drops(2) $drops(3)
    lappend fields [format %.4f [expr {$averages / $samples}]]
    puts [join $fields ,]
    exit 0
}
$ns at $seconds finish
$ns run
