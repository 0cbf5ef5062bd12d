# What the scenarios share: the one-way TCP agents as of 1998, and the event list.

array set agents {tahoe TCP reno TCP/Reno newreno TCP/Newreno sack TCP/Sack1 fack TCP/Fack}

# When the transfer starts (s), its clock's tick (s), and the number of ns-2's packet 0 in the list.
set start 0
set tick 0.1
set first 1

# Knobs of all agents, then those of the caller. They are set on the class: `run` resets every agent to it.
proc one_way_tcp {variant args} {
    if {![info exists ::agents($variant)]} {
        puts stderr "unknown variant '$variant': one of [lsort [array names ::agents]]"
        exit 2
    }
    # Each agent draws a clock phase when it is reset, uniformly over one tick. A tick of 1 ns at that moment makes the
    # phase zero: a measurement then counts the multiples of 0.1 s passed between send and ACK. The true tick is set as
    # the first event of the run.
    foreach {knob value} [concat {
        tcpTick_ 1e-9  rttvar_init_ 0  rtxcur_init_ 6.0  minrto_ 0  maxrto_ 64  singledup_ 0  syn_ false
        delay_growth_ false  useHeaders_ false  overhead_ 0  windowInitOption_ 1
        precisionReduce_ false  updated_rttvar_ false
    } $args] {
        Agent/TCP set $knob $value
    }
    # both became the default on 2003-05-05 and 2004-10-14
    Agent/TCP/Newreno set partial_window_deflation_ 0
    Agent/TCP/Newreno set newreno_changes1_ 0
    Agent/TCPSink set packetSize_ 40
}

# Observes the source's link `from`-`to` in both directions and the drops on the way into link `neck_from`-`neck_to`.
proc observe {ns from to neck_from neck_to} {
    set ::source_id [$from id]
    set ::neck_id [$neck_from id]
    set ::trace_name [file join /tmp "cwndlab-ns2-[pid].tr"]
    set ::trace [open $::trace_name w]
    $ns trace-queue $from $to $::trace
    $ns trace-queue $to $from $::trace
    $ns trace-queue $neck_from $neck_to $::trace
}

# An endless transfer; prints `title` and the event list at `duration` and leaves.
proc start_transfer {ns from to variant duration title} {
    set tcp [new Agent/$::agents($variant)]
    set sink [new Agent/TCPSink[expr {$variant in {sack fack} ? "/Sack1" : ""}]]
    $ns attach-agent $from $tcp
    $ns attach-agent $to $sink
    $ns connect $tcp $sink
    set ftp [new Application/FTP]
    $ftp attach-agent $tcp
    $ns at $::start "$tcp set tcpTick_ $::tick; $ftp start"
    $ns at $duration [list print_events $ns $title]
    $ns run
}

# A transfer over the chain of Fall and Floyd (1996), on which each of ns-2's packets `dropped` is lost once at the bottleneck.
proc transfer_with_losses {variant dropped duration access_delay title} {
    set ns [new Simulator]
    foreach name {s1 r1 k1} { set node($name) [$ns node] }
    $ns duplex-link $node(s1) $node(r1) 8Mb $access_delay DropTail
    $ns duplex-link $node(r1) $node(k1) 0.8Mb 100ms DropTail
    $ns queue-limit $node(r1) $node(k1) 8
    $ns queue-limit $node(k1) $node(r1) 8

    set losses [new ErrorModel/List]
    $losses droplist $dropped
    $losses drop-target [new Agent/Null]
    $ns lossmodel $losses $node(r1) $node(k1)

    observe $ns $node(s1) $node(r1) $node(r1) $node(k1)
    start_transfer $ns $node(s1) $node(k1) $variant $duration $title
}

proc print_events {ns title} {
    $ns flush-trace
    close $::trace
    puts "# $title"
    puts "time_s event packet"
    set highest_sent -1
    set highest_ack -1
    set in [open $::trace_name]
    while {[gets $in line] >= 0} {
        lassign $line op time from to type size flags flow src dst seq
        if {$op eq "+" && $type eq "tcp" && $from == $::source_id} {
            print_event $time [expr {$seq > $highest_sent ? "send" : "retransmit"}] $seq
            if {$seq > $highest_sent} { set highest_sent $seq }
        } elseif {$op eq "r" && $type eq "ack" && $to == $::source_id} {
            print_event $time [expr {$seq > $highest_ack ? "ack" : "dupack"}] $seq
            if {$seq > $highest_ack} { set highest_ack $seq }
        } elseif {$op eq "d" && $type eq "tcp" && $from == $::neck_id} {
            print_event $time drop $seq
        }
    }
    close $in
    file delete $::trace_name
    exit 0
}

# Packets of data count from 1 in the list; in ns-2 from 0, or from 1 where a SYN is packet 0, which the list leaves out.
proc print_event {time event seq} {
    set packet [expr {$seq + $::first}]
    if {$packet > 0} { puts [format "%.6f %s %d" $time $event $packet] }
}
