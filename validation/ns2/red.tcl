# RED (5/15, w_q 0.02, max_p 0.1, limit 60) before a link of 1.5 Mb/s under Poisson arrivals of 1000-byte datagrams:
#   ns red.tcl WAIT LOAD SECONDS SEED
# writes trace.tr (arrivals "+", drops "d") and ave.tr (the average at each arrival) to the working directory.
# The tests of crates/cwndlab-net/src/queue/red compare with them.
if {$argc != 4} {
    puts stderr "usage: ns red.tcl WAIT(true|false) LOAD SECONDS SEED"
    exit 2
}
lassign $argv wait load seconds seed
set ns [new Simulator]
ns-random $seed
foreach {knob value} {
    bytes_ false  queue_in_bytes_ false  thresh_ 5  maxthresh_ 15  q_weight_ 0.02  linterm_ 10
    mean_pktsize_ 1000  gentle_ false  adaptive_ 0  setbit_ false
} {
    Queue/RED set $knob $value
}
Queue/RED set wait_ $wait
set source [$ns node]
set sink [$ns node]
$ns simplex-link $source $sink 1.5Mb 0ms RED
$ns queue-limit $source $sink 60
set trace [open trace.tr w]
$ns trace-queue $source $sink $trace
set averages [open ave.tr w]
set red [[$ns link $source $sink] queue]
$red trace ave_
$red attach $averages
set udp [new Agent/UDP]
$udp set packetSize_ 1000
$ns attach-agent $source $udp
set null [new Agent/Null]
$ns attach-agent $sink $null
$ns connect $udp $null
# Bursts of no length at an endless rate: a packet after each exponential pause.
set poisson [new Application/Traffic/Exponential]
$poisson set packetSize_ 1000
$poisson set burst_time_ 0
$poisson set idle_time_ [expr {8000.0 / ($load * 1.5e6)}]
$poisson set rate_ 1e12
$poisson attach-agent $udp
$ns at 0.0 "$poisson start"
$ns at $seconds "close $trace; close $averages; exit 0"
$ns run
