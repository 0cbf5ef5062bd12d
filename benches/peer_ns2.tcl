# The benchmark workloads on ns-2.35; prints one JSON object.
#
#   ns peer_ns2.tcl WORKLOAD time|count [DURATION_S]
#
# time:  nothing is observed; CPU seconds between the first event and the end (set-up is not counted).
#        Flows that all end are counted here too, by the agents: what is sent and not acknowledged was dropped.
# count: queue monitors count the packets that leave every link and the drops at the bottleneck. The run is the same
#        event by event, so bench.py puts both together.
# The workloads are described in benches/README.md.
lassign $argv workload mode duration

# `law`: today's stack, by ns-2's nearest: Agent/TCP/Linux with this congestion control, and delayed ACKs. All delay is
# on the sender's links, as in the short form [dumbbell].
set law ""

#              workload   flows  bottleneck  rtt   queue duration stagger  packets pairs law
foreach row {
    {10x1.5M       10     1.5e6      0.100    25   2400   0.1      0        10}
    {50x100M       50     100e6      0.020   250     60   0.02     0        50}
    {200x1G       200       1e9      0.020  2500     10   0.005    0       200}
    {1000x10G    1000      10e9      0.020 25000      2   0.0005   0      1000}
    {short100k 100000       1e9      0.020  2500     16   0.00015 10       100}
    {incast       200      10e9      0.0001   250     10   0.000001 333      200}
    {8-reno         8      50e6      0.040   166    100   0.1      0         8 reno}
    {8-cubic        8      50e6      0.040   166    100   0.1      0         8 cubic}
} {
    if {[lindex $row 0] eq $workload} {
        lassign $row name flows rate rtt limit full_duration stagger packets pairs law
    }
}
if {![info exists flows] || $mode ni {time count}} {
    puts stderr "usage: ns peer_ns2.tcl 10x1.5M|50x100M|200x1G|1000x10G|short100k|incast|8-reno|8-cubic time|count \[DURATION_S\]"
    exit 2
}
if {$duration eq ""} { set duration $full_duration }

proc memory_bytes {} {
    set in [open /proc/self/status]
    regexp {VmRSS:\s+(\d+) kB} [read $in] -> kilobytes
    close $in
    return [expr {$kilobytes * 1024}]
}

# User and system time of this process, in clock ticks of 10 ms.
proc cpu_s {} {
    set in [open /proc/self/stat]
    set fields [lrange [lindex [split [read $in] )] end] 0 end]
    close $in
    return [expr {([lindex $fields 11] + [lindex $fields 12]) / 100.0}]
}

foreach {knob value} {
    tcpTick_ 0.01  rtxcur_init_ 3.0  minrto_ 0.2  maxrto_ 60  singledup_ 0  syn_ false  delay_growth_ false
    useHeaders_ false  overhead_ 0  windowInit_ 2  windowInitOption_ 1  window_ 10000  packetSize_ 1500
} {
    Agent/TCP set $knob $value
}
Agent/TCPSink set packetSize_ 40
if {$law ne ""} {
    # The initial window, the minimum timeout and the delay of ACKs of linux-6; timestamps are part of the packets' size.
    Agent/TCP set windowInit_ 10
    Agent/TCP set timestamps_ true
    Agent/TCP set tcpTick_ 0.001
    Agent/TCPSink set ts_echo_rfc1323_ true
    Agent/TCPSink/Sack1/DelAck set interval_ 40ms
}

# Only the headers in use: a packet's memory is cleared for each one sent.
remove-all-packet-headers
add-packet-header IP TCP Flags
set ns [new Simulator]
# Routes by hand: computing them for thousands of nodes takes minutes and is not what is measured.
$ns rtproto Manual

set left [$ns node]
set right [$ns node]
set access_rate [expr {$law eq "" ? 10 * $rate : 1e9}]
set bottleneck_delay [expr {$law eq "" ? 0.455 * $rtt : 0}]
$ns simplex-link $left $right $rate $bottleneck_delay DropTail
$ns simplex-link $right $left $rate $bottleneck_delay DropTail
$ns queue-limit $left $right $limit
$ns queue-limit $right $left 1000000
set links [list [$ns link $left $right] [$ns link $right $left]]
set left_routes [$left get-module Manual]
set right_routes [$right get-module Manual]

set before [memory_bytes]
for {set i 0} {$i < $pairs} {incr i} {
    set source($i) [$ns node]
    set sink($i) [$ns node]
    set source_delay [expr {$law eq "" ? 0.01 * $rtt * ($i % 10) : $rtt / 2}]
    foreach {router end delay} [list $left $source($i) $source_delay $right $sink($i) 0] {
        foreach {a b} [list $router $end $end $router] {
            $ns simplex-link $a $b $access_rate $delay DropTail
            $ns queue-limit $a $b 1000000
            lappend links [$ns link $a $b]
        }
        [$end get-module Manual] add-route-to-adj-node -default $router
    }
    $left_routes add-route-to-adj-node $source($i)
    $left_routes add-route [$sink($i) node-addr] [[$ns link $left $right] head]
    $right_routes add-route-to-adj-node $sink($i)
    $right_routes add-route [$source($i) node-addr] [[$ns link $right $left] head]
}
for {set i 0} {$i < $flows} {incr i} {
    if {$law eq ""} {
        set tcp($i) [new Agent/TCP/Sack1]
        set receiver [new Agent/TCPSink/Sack1]
    } else {
        set tcp($i) [new Agent/TCP/Linux]
        set receiver [new Agent/TCPSink/Sack1/DelAck]
        $ns at 0 "$tcp($i) select_ca $law"
    }
    $ns attach-agent $source([expr {$i % $pairs}]) $tcp($i)
    $ns attach-agent $sink([expr {$i % $pairs}]) $receiver
    $ns connect $tcp($i) $receiver
    # -1: without end
    $ns at [expr {$i * $stagger}] "$tcp($i) [expr {$packets ? "advanceby $packets" : "send -1"}]"
}
set set_up_bytes [expr {[memory_bytes] - $before}]

set monitors {}
if {$mode eq "count"} {
    foreach link $links {
        set from [$link set fromNode_]
        set to [$link set toNode_]
        lappend monitors [$ns monitor-queue $from $to [open /dev/null w] 1e9]
    }
}

$ns at 0 "set start_cpu \[cpu_s\]"
$ns at $duration finish

proc finish {} {
    global ns mode workload start_cpu monitors tcp flows packets duration set_up_bytes
    set cpu [expr {[cpu_s] - $start_cpu}]
    foreach counter {acked data acks} { set $counter 0 }
    for {set i 0} {$i < $flows} {incr i} {
        incr acked [expr {[$tcp($i) set ack_] + 1}]
        incr data [$tcp($i) set ndatapack_]
        incr acks [$tcp($i) set nackpack_]
    }
    set out [format {"tool": "ns-2.35", "workload": "%s", "duration_s": %s, "flows": %d, "goodput_bps": %.0f} \
        $workload $duration $flows [expr {$acked * 1500.0 * 8 / $duration}]]
    if {$mode eq "time"} {
        append out [format {, "cpu_s": %.2f, "bytes_per_flow": %d} $cpu [expr {$set_up_bytes / $flows}]]
        if {$acked == $flows * $packets} {
            append out [format {, "hops": %d, "drops": %d} [expr {$data + 5 * $acks}] [expr {$data - $acks}]]
        }
    } else {
        set hops 0
        foreach monitor $monitors { incr hops [expr {int([$monitor set pdepartures_])}] }
        append out [format {, "hops": %d, "drops": %d} $hops [expr {int([[lindex $monitors 0] set pdrops_])}]]
    }
    puts "{$out}"
    exit 0
}

$ns run
