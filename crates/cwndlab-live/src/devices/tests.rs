//! Devices and signals that are streams between two ends of this process.

use std::os::unix::net::UnixStream;

use super::*;

const STATISTICS: &str = "\
Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16
    t0:10 20 30 100 50 60 70 80 90 1 2 7 3 4 5 6
   t01: 5 5 5 5 5 5 5 5 5 5 5 5 5 5 5 5
";

/// A device, and the end from which the kernel would send to it.
fn device(name: &str) -> (Port, UnixStream) {
    let (here, there) = UnixStream::pair().unwrap();
    here.set_nonblocking(true).unwrap();
    let path = std::env::temp_dir().join(format!("cwndlab-devices-{}-{name}", std::process::id()));
    fs::write(&path, STATISTICS).unwrap();
    let statistics = File::open(&path).unwrap();
    fs::remove_file(path).unwrap();
    let file = File::from(OwnedFd::from(here));
    let port =
        Port { device: Device::Tun(file), name: name.into(), index: 4, mtu: 900, statistics, dropped_at_socket: 2 };
    (port, there)
}

#[test]
fn drops_of_a_device_are_those_of_both_directions_and_of_its_socket() {
    let (mut port, _there) = device("t0");
    for _ in 0..2 {
        assert_eq!(port.kernel_drops().unwrap(), 100 + 7 + 2);
    }
    assert_eq!(port.as_tun().map(|found| found.1), Some(4));
    assert_eq!(device("t0x").0.kernel_drops().unwrap(), 2, "it is gone");
}

#[test]
fn packets_are_read_and_written_and_a_signal_ends_the_wait() {
    let ((first, mut to_first), (second, mut to_second)) = (device("t0"), device("t01"));
    let (signals, mut signal) = UnixStream::pair().unwrap();
    let signals = OwnedFd::from(signals);
    let mut devices = Devices::new(vec![first, second], &signals).unwrap();
    let mut ready = vec![5];
    let mut buffer = [0; 64];
    let now = devices.now_ns();
    assert!(!devices.wait(Some(now), &mut ready).unwrap());
    assert_eq!((ready.len(), devices.read(1, &mut buffer)), (0, None));
    to_second.write_all(b"abc").unwrap();
    assert!(!devices.wait(None, &mut ready).unwrap());
    assert_eq!((ready.as_slice(), devices.read(1, &mut buffer), &buffer[..3]), (&[1][..], Some(3), &b"abc"[..]));
    assert!(devices.write(0, b"defg"));
    assert_eq!((to_first.read(&mut buffer).unwrap(), &buffer[..4]), (4, &b"defg"[..]));
    assert_eq!((devices.drops(0).unwrap(), devices.drops(1).unwrap()), (109, 12));
    signal.write_all(b"x").unwrap();
    to_first.write_all(b"x").unwrap();
    assert!(devices.wait(None, &mut ready).unwrap());
    assert_eq!(ready, [0]);
}

#[test]
fn a_wait_lasts_until_the_given_time() {
    let (signals, _signal) = UnixStream::pair().unwrap();
    let signals = OwnedFd::from(signals);
    let mut devices = Devices::new(Vec::new(), &signals).unwrap();
    let until = devices.now_ns() + 3_000_000;
    assert!(!devices.wait(Some(until), &mut Vec::new()).unwrap());
    assert!(devices.now_ns() >= until);
    let (before, used, after) = (sys::cpu_ns(), devices.cpu_ns(), sys::cpu_ns());
    assert!((before..=after).contains(&used));
}
