# RFC 2415 with the TCP that its authors left in ns-2 (Agent/TCP/BayFullTcp with their FtpClient and FtpServer).
#   ns rfc2415_bay.tcl WEBS FTPS IW SEED SECONDS REPLIES.csv [OPTION=VALUE ...]  prints, as one line of CSV,
#       webs,ftps,iw,seed,pages,median_page_delay_s,utilization_pct,drop_pct,median_file_delay_s,hung
#     IW 1/3 gives half of the web clients an initial window of 1 and the others one of 3, as in Table 6; two columns
#     follow then, the median page delays of both. A web client hangs if it waits for a page longer than 60 s at the
#     end, as the authors' client never tries again. The options, each of which changes one rule:
#       free=30           a pair of agents is used again so many seconds after its last packet of data; never: each
#                         connection has new agents; own: each client has agents of its own, used for all its pages
#       dead=used         a pair is used again even if its server does not listen; skipped: only if it does
#       interval=0.1      the receiver's clock for delayed ACKs in seconds (0.4 in redlight.tcl)
#       pause=0           seconds between two files (the timer of FtpClient: 5)
#       trigger=first     the in-lines are requested after the primary's first packet; whole: after its last, the only
#                         one with PSH, by which the agents call an application
#       clock=request     a page's clock starts with the request; syn: with its SYN, as that of FtpClient
#       recovery=agents   a sender leaves recovery with what is outstanding and two packets; ssthresh: with ssthresh
#       window=11         the maximum window in packets (52 in redlight.tcl)
#       delays=50/0/0     one-way delay in ms of the bottleneck, the servers' and the clients' links (25/25/1 there)
#   ns rfc2415_bay.tcl one IW BYTES LIMIT                          prints the events of one connection at its server:
#       time_s,event,offset,bytes with event send or ack
# The authors' browser is lost. This one is the study's: page clock from the request, in-lines when the primary's first
# packet arrives, no delay of access links. Requests are of 80 bytes, as FtpClient sends no others.

proc usage {} {
    puts stderr "ns rfc2415_bay.tcl WEBS FTPS IW SEED SECONDS REPLIES.csv \[OPTION=VALUE ...\] | one IW BYTES LIMIT"
    exit 2
}
set single [expr {[lindex $argv 0] eq "one"}]
set limit 25
array set option {
    free 30 dead used interval 0.1 pause 0 trigger first clock request recovery agents window 11 delays 50/0/0
}
if {$single && $argc == 4} {
    lassign $argv - iw bytes limit
    lassign {0 0 1 60} webs ftps seed seconds
} elseif {!$single && $argc >= 6} {
    lassign $argv webs ftps iw seed seconds replies
    foreach given [lrange $argv 6 end] {
        lassign [split $given =] name value
        if {![info exists option($name)] || $value eq ""} usage
        set option($name) $value
    }
} else usage
set windows [split $iw /]

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
if {!$single} { set reply_table [table $replies] }
set sizes [new RNG]
$sizes seed [expr {$seed + 1000}]
set think [new RNG]
$think seed [expr {$seed + 2000}]

# ── TCP: ns-2 of 1998 where its defaults changed since, else as the agents have it ──
Trace set show_tcphdr_ 1
Agent/TCP set tcpTick_ 0.1
Agent/TCP set rtxcur_init_ 6.0
Agent/TCP set minrto_ 0
Agent/TCP set maxrto_ 64
Agent/TCP set precisionReduce_ false
Agent/TCP set window_ $option(window)
Agent/TCP/BayFullTcp set segsize_ 1460
Agent/TCP/BayFullTcp set segsperack_ 2
Agent/TCP/BayFullTcp set interval_ $option(interval)

# ── topology ──
set ns [new Simulator]
$ns rtproto Static
for {set i 0} {$i < 10} {incr i} { set n($i) [$ns node] }
lassign [split $option(delays) /] bottleneck_ms servers_ms clients_ms
foreach i {2 3 4 5} { $ns duplex-link $n($i) $n(0) 10Mb ${clients_ms}ms DropTail }
foreach i {6 7 8 9} { $ns duplex-link $n($i) $n(1) 10Mb ${servers_ms}ms DropTail }
$ns duplex-link $n(0) $n(1) 1.5Mb ${bottleneck_ms}ms DropTail
foreach {a b} {0 1 1 0} { $ns queue-limit $n($a) $n($b) $limit }
foreach i {2 3 4 5} { $ns queue-limit $n($i) $n(0) 25; $ns queue-limit $n(0) $n($i) 25 }
foreach i {6 7 8 9} { $ns queue-limit $n($i) $n(1) 25; $ns queue-limit $n(1) $n($i) 25 }
set null [open /dev/null w]
set monitor [$ns monitor-queue $n(1) $n(0) $null]

# Calls `command` with each packet that arrives over a link.
proc watch {from to command} {
    global ns null
    $ns trace-queue $from $to $null
    set link [$ns link $from $to]
    set trace [$link set rcvT_]
    $trace set callback_ 1
    $trace proc handle {args} [list apply [list {command line} {
        uplevel #0 [list {*}$command [string trim [join $line]]]
    }] $command]\ \$args
}

# ── connections: pairs of agents that are used again, as the authors' were ──
set serial 0
# A server that has closed listens again, with its numbers reset (tcp-full-bay.cc, reinit).
proc listens {made} {
    set server [lindex $made 1]
    return [expr {[$server set ack_] == 0 && [$server set maxseq_] == 0}]
}
proc pair {k iw} {
    global ns pool
    while {[info exists pool($k,$iw)] && [llength $pool($k,$iw)]} {
        lassign [lindex $pool($k,$iw) 0] free made
        if {$free > [$ns now]} break
        set pool($k,$iw) [lrange $pool($k,$iw) 1 end]
        if {$::option(dead) eq "used" || [listens $made]} { return $made }
    }
    return [agents $k $iw]
}
proc own {owner k iw} {
    if {![info exists ::owned($owner)]} { set ::owned($owner) [agents $k $iw] }
    return $::owned($owner)
}
proc agents {k iw} {
    global ns n
    set c [new Agent/TCP/BayFullTcp]
    set s [new Agent/TCP/BayFullTcp]
    set client [new Agent/BayTcpApp/FtpClient]
    set server [new Agent/BayTcpApp/FtpServer]
    $c attach-application $client
    $client tcp $c
    $s attach-application $server
    $ns attach-agent $n([expr {2 + $k}]) $c
    $ns attach-agent $n([expr {6 + $k}]) $s
    $ns connect $c $s
    $c initial-window $iw
    $s initial-window $iw
    $s listen
    return [list $c $s $client $server]
}
proc fetch {owner k iw response requested began done} {
    global ns serial todo
    set id [incr serial]
    set made [expr {$::option(free) eq "own" ? [own $owner $k $iw] : [pair $k $iw]}]
    lassign $made c s client server
    $c set fid_ $id
    $s set fid_ $id
    $server file_size [expr {$response + 1}] ;# of which the SYN takes one
    $client start
    $ns at [expr {[$ns now] + 0.0001}] "$client stop"
    set todo($id) [list $k,$iw $made $response $requested $began $done]
}
# A packet at the client: its SYN-ACK, or data, perhaps not for the first time.
proc arrived {line} {
    global ns todo seen got pool
    lassign $line - - - - - size - id - - seq - - flags
    if {![info exists todo($id)]} return
    lassign $todo($id) k made response requested began done
    set bytes [expr {$size - 40}]
    if {$bytes == 0} {
        if {($flags & 2) && ![info exists got($id)]} {
            set got($id) 0
            if {$requested ne ""} { uplevel #0 $requested }
        }
        return
    }
    # An agent that is used again may still repeat the last packet of its old transfer.
    if {![info exists got($id)] || [info exists seen($id,$seq)]} return
    set seen($id,$seq) 1
    if {$got($id) == 0 && $began ne ""} { $ns at [$ns now] $began }
    incr got($id) $bytes
    if {$got($id) >= $response} {
        unset todo($id) got($id)
        array unset seen $id,*
        if {[string is double $::option(free)]} {
            lappend pool($k) [list [expr {[$ns now] + $::option(free)}] $made]
        }
        $ns at [$ns now] $done
    }
}
foreach i {2 3 4 5} { watch $n(0) $n($i) arrived }


# Leaves recovery with ssthresh: an agent keeps its window where it is not larger than that (tcp-full-bay.cc, recv).
proc acknowledged {line} {
    global todo
    set id [lindex $line 7]
    if {![info exists todo($id)]} return
    set s [lindex $todo($id) 1 1]
    if {[lindex $line 12] > [$s set ack_] && [$s set dupacks_] >= 3 && [$s set cwnd_] > [$s set ssthresh_]} {
        $s set cwnd_ [$s set ssthresh_]
    }
}
if {$option(recovery) eq "ssthresh"} { foreach i {6 7 8 9} { watch $n(1) $n($i) acknowledged } }

# ── browsers ──
proc window {k} { return [lindex $::windows [expr {$k % [llength $::windows]}]] }
proc node {k} { return [expr {$k / [llength $::windows] % 4}] }
proc web {k place requested began done} {
    fetch web$k,$place [node $k] [window $k] [draw $::reply_table] $requested $began $done
}
proc begin_page {k} {
    global missing started start primary
    set missing($k) 4
    set started($k) [$::ns now]
    set start($k) [$::ns now]
    set primary($k) 1
    if {$::option(trigger) eq "first"} {
        web $k 0 [list requested $k] [list inlines $k] [list object $k]
    } else {
        web $k 0 [list requested $k] "" [list object $k]
    }
}
proc requested {k} { if {$::option(clock) eq "request"} { set ::start($k) [$::ns now] } }
proc inlines {k} { for {set i 0} {$i < 3} {incr i} { web $k [expr {$i + 1}] "" "" [list object $k] } }
proc object {k} {
    global ns missing start primary delays
    if {$primary($k) && $::option(trigger) eq "whole"} { inlines $k }
    set primary($k) 0
    if {[incr missing($k) -1] == 0} {
        lappend delays([window $k]) [expr {[$ns now] - $start($k)}]
        $ns at [expr {[$ns now] + [$::think uniform 1 5]}] "begin_page $k"
    }
}
foreach window $windows { set delays($window) {} }
for {set k 0} {$k < $webs} {incr k} { $ns at [$think uniform 0 5] "begin_page $k" }

# ── file transfers, from the SYN to the last packet ──
proc begin_file {k} {
    set ::file_start($k) [$::ns now]
    fetch file$k [expr {$k % 4}] [lindex $::windows 0] 1000000 "" "" [list end_file $k]
}
proc end_file {k} {
    lappend ::file_delays [expr {[$::ns now] - $::file_start($k)}]
    $::ns at [expr {[$::ns now] + $::option(pause)}] "begin_file $k"
}
set file_delays {}
for {set k 0} {$k < $ftps} {incr k} { $ns at [$think uniform 0 1] "begin_file $k" }

proc median {list} {
    set sorted [lsort -real $list]
    set count [llength $sorted]
    if {$count == 0} { return "" }
    set middle [expr {$count / 2}]
    if {$count % 2} { return [lindex $sorted $middle] }
    return [expr {([lindex $sorted [expr {$middle - 1}]] + [lindex $sorted $middle]) / 2.0}]
}
proc finish {} {
    global webs ftps iw seed seconds monitor delays file_delays missing started
    set hung 0
    for {set k 0} {$k < $webs} {incr k} {
        if {[info exists missing($k)] && $missing($k) > 0 && [info exists started($k)] && $seconds - $started($k) > 60} { incr hung }
    }
    set used [expr {8.0 * [$monitor set bdepartures_] / 1.5e6 / $seconds}]
    set drops [expr {double([$monitor set pdrops_]) / max(1, [$monitor set parrivals_])}]
    set all {}
    set halves ""
    foreach window $::windows {
        lappend all {*}$delays($window)
        if {[llength $::windows] > 1} { append halves ",[median $delays($window)]" }
    }
    puts [format "%d,%d,%s,%d,%d,%s,%.3f,%.4f,%s,%d%s" $webs $ftps $iw $seed [llength $all] [median $all] \
        [expr {100 * $used}] [expr {100 * $drops}] [median $file_delays] $hung $halves]
    exit 0
}

# ── one connection, as its server's link sees it ──
proc left {line} { event send 10 $line }
proc came {line} { event ack 13 $line }
proc event {name at line} {
    set size [lindex $line 5]
    set flags [lindex $line 13]
    set bytes [expr {$size - 40}]
    if {$flags & 2} return
    if {($name eq "send") != ($bytes > 0)} return
    set offset [expr {$name eq "send" ? [lindex $line 10] : [lindex $line 12]}]
    puts [format "%.6f,%s,%d,%d" [lindex $line 1] $name [expr {$offset - 1}] $bytes]
}
if {$single} {
    puts time_s,event,offset,bytes
    watch $n(1) $n(6) came
    $ns trace-queue $n(6) $n(1) $null
    set trace [[$ns link $n(6) $n(1)] set enqT_]
    $trace set callback_ 1
    $trace proc handle {args} { left [string trim [join $args]] }
    $ns at 0.0 [list fetch one 0 $iw $bytes "" "" ""]
    $ns at $seconds { exit 0 }
} else {
    $ns at $seconds finish
}
$ns run
