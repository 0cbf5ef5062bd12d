# RFC 2415's topology with ns-2.35's FullTcp, as a peer for the study `rfc2415`.
#   ns rfc2415.tcl WEBS FTPS IW SEED SECONDS REPLIES.csv REQUESTS.csv [cpu]
# prints: webs ftps iw seed pages median_page_delay_s utilization drop_rate median_file_delay_s
# With `cpu` (for benches/bench.py) the agents of POOL connections are made beforehand, and a JSON object follows: CPU seconds
# of making them and of the run.
# Definitions as in the study's model `peer`: page clock from the SYN, in-line connections after the whole primary,
# access links of 2 ms, every packet acknowledged, Reno, 0.1 s clock, first RTO 6 s, least RTO 0.2 s, no delayed ACK.

proc usage {} { puts stderr "ns rfc2415.tcl WEBS FTPS IW SEED SECONDS REPLIES.csv REQUESTS.csv [cpu]"; exit 2 }
if {$argc != 7 && ($argc != 8 || [lindex $argv 7] ne "cpu")} { usage }
lassign $argv webs ftps iw seed seconds replies requests cpu

global defaultRNG
$defaultRNG seed $seed

# ── measured sizes: value,count ──
proc table {file} {
    set values {}
    set sums {}
    set total 0
    set in [open $file]
    while {[gets $in line] >= 0} {
        lassign [split $line ,] value count
        if {![string is integer -strict $count]} continue
        lappend values $value
        incr total $count
        lappend sums $total
    }
    close $in
    return [list $values $sums $total]
}
proc draw {table} {
    lassign $table values sums total
    set r [expr {int([$::sizes uniform 0 $total])}]
    set low 0
    set high [expr {[llength $sums] - 1}]
    while {$low < $high} {
        set mid [expr {($low + $high) / 2}]
        if {[lindex $sums $mid] > $r} { set high $mid } else { set low [expr {$mid + 1}] }
    }
    return [expr {max(1, [lindex $values $low])}]
}
set reply_table [table $replies]
set request_table [table $requests]
set sizes [new RNG]
$sizes seed [expr {$seed + 1000}]

# ── topology ──
set ns [new Simulator]
$ns rtproto Static
for {set i 0} {$i < 10} {incr i} { set n($i) [$ns node] }
for {set i 2} {$i < 6} {incr i} { $ns duplex-link $n($i) $n(0) 10Mb 2ms DropTail }
for {set i 6} {$i < 10} {incr i} { $ns duplex-link $n($i) $n(1) 10Mb 2ms DropTail }
$ns duplex-link $n(0) $n(1) 1.5Mb 50ms DropTail
foreach {a b} {0 1 1 0} { $ns queue-limit $n($a) $n($b) 25 }
for {set i 2} {$i < 6} {incr i} { $ns queue-limit $n($i) $n(0) 25; $ns queue-limit $n(0) $n($i) 25 }
for {set i 6} {$i < 10} {incr i} { $ns queue-limit $n($i) $n(1) 25; $ns queue-limit $n(1) $n($i) 25 }
set monitor [$ns monitor-queue $n(1) $n(0) [open /dev/null w]]

# ── TCP ──
Agent/TCP set tcpTick_ 0.1
Agent/TCP set rtxcur_init_ 6.0
Agent/TCP set minrto_ 0.2
Agent/TCP set maxrto_ 64
Agent/TCP set singledup_ 0
Agent/TCP set window_ 11
Agent/TCP set windowInit_ $iw
Agent/TCP/FullTcp set segsize_ 1460
Agent/TCP/FullTcp set segsperack_ 1
Agent/TCP/FullTcp set nodelay_ true
Agent/TCP/FullTcp set interval_ 1000
Agent/TCP/FullTcp set window_ 11
Agent/TCP/FullTcp set windowInit_ $iw
Agent/TCP/FullTcp set singledup_ 0

# ── a connection: request up, response down, the server closes with the response ──
set serial 0
set pool {}
proc fetch {client server request response done} {
    global ns n serial peer pool
    set id [incr serial]
    if {[llength $pool]} {
        lassign [lindex $pool end] c s
        set pool [lreplace $pool[set pool {}] end end]
    } else {
        set c [new Agent/TCP/FullTcp]
        set s [new Agent/TCP/FullTcp]
    }
    $ns attach-agent $n($client) $c
    $ns attach-agent $n($server) $s
    $ns connect $c $s
    $s listen
    set ca [new Application/TcpApp $c]
    set sa [new Application/TcpApp $s]
    $ca connect $sa
    set peer($s) $c
    $c set fid_ $id
    $s set fid_ $id
    $ca send $request [list answer $sa $s $response $done]
}
proc answer {app agent response done} {
    # A FullTcp that is closed at once forgets what it has not sent: the FIN follows the response instead.
    $app send $response [list served $agent $done]
}
proc served {agent done} {
    global ns
    $agent close
    uplevel #0 $done
    $ns at [expr {[$ns now] + 30}] "gone $agent"
}
# Agents that stay make a run quadratic in the number of connections.
proc gone {agent} {
    global ns peer
    foreach one [concat $agent $peer($agent)] {
        $ns detach-agent [$one set node_] $one
        delete $one
    }
    unset peer($agent)
}

# ── browsers ──
proc browser {k} {
    global ns
    $ns at [$::think uniform 0 5] "begin_page $k"
}
proc begin_page {k} {
    global ns start missing
    set start($k) [$ns now]
    set missing($k) 4
    one $k primary
}
proc one {k kind} {
    global reply_table request_table
    fetch [expr {2 + $k % 4}] [expr {6 + $k % 4}] [draw $request_table] [draw $reply_table] [list object $k $kind]
}
proc object {k kind} {
    global ns missing start delays
    incr missing($k) -1
    if {$kind eq "primary"} { for {set i 0} {$i < 3} {incr i} { one $k inline } }
    if {$missing($k) == 0} {
        lappend delays [expr {[$ns now] - $start($k)}]
        $ns at [expr {[$ns now] + [$::think uniform 1 5]}] "begin_page $k"
    }
}
set think [new RNG]
$think seed [expr {$seed + 2000}]
set delays {}
for {set k 0} {$k < $webs} {incr k} { browser $k }

# ── file transfers ──
proc begin_file {k} {
    global ns file_start
    set file_start($k) [$ns now]
    fetch [expr {2 + $k % 4}] [expr {6 + $k % 4}] 80 1000000 [list end_file $k]
}
proc end_file {k} {
    global ns file_start file_delays
    lappend file_delays [expr {[$ns now] - $file_start($k)}]
    begin_file $k
}
set file_delays {}
for {set k 0} {$k < $ftps} {incr k} { $ns at [$think uniform 0 1] "begin_file $k" }

proc median {list} {
    set sorted [lsort -real $list]
    set count [llength $sorted]
    if {$count == 0} { return - }
    set middle [expr {$count / 2}]
    if {$count % 2} { return [lindex $sorted $middle] }
    return [expr {([lindex $sorted [expr {$middle - 1}]] + [lindex $sorted $middle]) / 2.0}]
}
# User and system time of this process, in clock ticks of 10 ms.
proc cpu_s {} {
    set in [open /proc/self/stat]
    set fields [lrange [lindex [split [read $in] )] end] 0 end]
    close $in
    return [expr {([lindex $fields 11] + [lindex $fields 12]) / 100.0}]
}
proc print_cpu {} {
    set run [expr {[cpu_s] - $::start_cpu}]
    puts [format {{"tool": "ns-2.35", "cpu_s": %.2f, "making_agents_s": %.2f, "connections": %d}} $run $::making_s $::serial]
}
proc finish {} {
    global webs ftps iw seed seconds monitor delays file_delays
    set bits [expr {8.0 * [$monitor set bdepartures_]}]
    set drops [expr {double([$monitor set pdrops_]) / max(1, [$monitor set parrivals_])}]
    puts [format "%d %d %d %d %d %s %.4f %.5f %s" $webs $ftps $iw $seed [llength $delays] \
        [median $delays] [expr {$bits / 1.5e6 / $seconds}] $drops [median $file_delays]]
    if {$::cpu eq "cpu"} { print_cpu }
    exit 0
}
set POOL 6000
if {$cpu eq "cpu"} {
    set before [cpu_s]
    for {set i 0} {$i < $POOL} {incr i} { lappend pool [list [new Agent/TCP/FullTcp] [new Agent/TCP/FullTcp]] }
    set making_s [expr {[cpu_s] - $before}]
}
$ns at 0 "set start_cpu \[cpu_s\]"
$ns at $seconds finish
$ns run
