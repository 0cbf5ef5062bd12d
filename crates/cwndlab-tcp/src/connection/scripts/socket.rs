//! Socket options and flags of writes: what waits for more data, where records end, and when an application gives up.

use super::*;

/// `MSG_MORE`: less than a full segment waits until the next write without the flag.
#[test]
fn a_write_that_announces_more_waits_for_the_next_one() {
    client(
        &config(4),
        "0.0 more 500
         0.1 write 100
         0.1 > data 0-600
         0.2 < ack 600
         0.3 more 1200
         0.3 > data 600-1600     # a full segment does not wait
         0.4 write 0             # the flag is that of the last write
         0.4 > data 1600-1800
         0.5 < ack 1800",
    );
}

/// The next ACK ends `MSG_MORE` (`tcp_push` in `tcp_data_snd_check`), also a duplicate.
#[test]
fn an_ack_sends_what_waits_for_more() {
    client(
        &config(4),
        "0.0 write 1000
         0.0 > data 0-1000
         0.0 more 300
         0.1 < ack 1000
         0.1 > data 1000-1300",
    );
}

/// `TCP_CORK` outlasts ACKs. With nothing in flight, the retransmission timer's time is the limit.
#[test]
fn a_cork_holds_back_small_segments_until_it_is_drawn_or_a_timeout_has_passed() {
    client(
        &config(4),
        "0.0 cork
         0.0 write 2300
         0.0 > data 0-1000
         0.0 > data 1000-2000
         0.1 < ack 2000
         0.2 uncork
         0.2 > data 2000-2300
         0.3 < ack 2300
         0.4 cork
         0.4 write 100
         0.5 push                # TCP_NODELAY sends what has been written
         0.5 > data 2300-2400
         0.6 < ack 2400",
    );
    let script = |timeout| {
        format!(
            "0.0 cork
             0.0 write 300
             {timeout} > data 0-300"
        )
    };
    client(&config(4), &script("1"));
    // without an option before, drawing a cork and a user timeout of none change nothing
    client(&config(4), "0.0 uncork\n0.0 user-timeout none\n0.0 push\n0.0 write 300\n0.0 > data 0-300");
}

/// `MSG_EOR`: no segment holds bytes of two records, nor does a retransmission.
#[test]
fn a_record_ends_its_segment() {
    client(
        &config(4),
        "0.0 cork
         0.0 write 300
         0.0 end-record
         0.0 end-record          # again: nothing
         0.0 write 1200
         0.0 end-record
         0.0 write 100
         0.0 > data 0-300
         0.0 > data 300-1300
         0.0 > data 1300-1500
         0.0 uncork
         0.0 > data 1500-1600
         1.0 > data 0-300        # the timeout sends the record alone
         1.1 < ack 1500
         1.1 > data 1500-1600
         1.2 < ack 1600
         1.2 write 50
         1.2 > data 1600-1650",
    );
}

/// RFC 5482: the connection is aborted once data is unacknowledged for the user timeout, which counts from the first
/// retransmission as in Linux. Progress stops it.
#[test]
fn a_user_timeout_aborts_that_long_after_the_first_retransmission() {
    client(
        &config(1),
        "0.0 user-timeout 5
         0.0 write 1000
         0.0 > data 0-1000
         1.0 > data 0-1000       # the first timeout: five seconds from here
         3.0 > data 0-1000
         5.999 write 1
         = state Established
         = error none
         6.0 write 1
         = state Closed
         = error RetransmitTimeout",
    );
    client(
        &config(1),
        "0.0 user-timeout 5
         0.0 write 2000
         0.0 > data 0-1000
         1.0 > data 0-1000
         3.0 > data 0-1000
         5.0 < ack 1000          # progress: the time begins again with the next timeout
         5.0 > data 1000-2000
         9.0 > data 1000-2000    # the timeout stays doubled twice
         13.9 < ack 2000
         20.0 write 1000
         20.0 > data 2000-3000
         20.1 < ack 3000
         = error none",
    );
}

/// Without a user timeout the number of retransmissions is the limit again.
#[test]
fn a_user_timeout_that_is_taken_back_aborts_nothing() {
    client(
        &config(1),
        "0.0 user-timeout 5
         0.0 write 1000
         0.0 > data 0-1000
         1.0 > data 0-1000
         2.0 user-timeout none
         3.0 > data 0-1000
         7.0 > data 0-1000
         = error none
         8.0 < ack 1000",
    );
}

/// RFC 1122, 4.2.2.13: after a close with no one left to read, new data is answered by a RST.
#[test]
fn data_after_a_close_of_both_directions_is_reset() {
    let script = |more: &str| format!("0.0 close-read\n0.1 close\n0.1 > fin ack 0\n{more}");
    client(
        &TcpConfig { fin: Some(FIN), ..config(4) },
        &script(
            "0.2 < ack 1
             = state FinWait2
             0.3 < at 50 ack 1       # no data: as always
             0.31 < data 0-0
             = state FinWait2
             0.4 < data 0-100
             0.4 > rst
             = state Closed
             = error Aborted",
        ),
    );
    // what had arrived before the close may arrive again
    client(
        &TcpConfig { fin: Some(FIN), ..config(4) },
        "0.0 < data 0-100
         0.0 > ack 100
         0.1 close-read
         0.1 close
         0.1 > fin ack 100
         0.2 < ack 1
         0.3 < data 0-100
         0.3 > ack 100
         = state FinWait2
         0.4 < data 0-101
         0.4 > rst",
    );
    // while open, data is taken though no one reads
    client(&TcpConfig { fin: Some(FIN), ..config(4) }, "0.0 close-read\n0.1 < data 0-100\n0.1 > ack 100");
}
