//! What needs no permission, on the machine that runs the tests.

use std::fs;
use std::io::Write as _;
use std::os::unix::net::UnixStream;

use super::*;

/// The kernel's clock in nanoseconds, read here.
fn read_clock(clock: libc::clockid_t) -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `now` is a valid timespec to write to.
    assert_eq!(unsafe { libc::clock_gettime(clock, &raw mut now) }, 0);
    u64::try_from(Duration::new(now.tv_sec as u64, now.tv_nsec as u32).as_nanos()).unwrap()
}

#[test]
fn both_clocks_are_the_kernels_in_nanoseconds() {
    for (clock, read) in
        [(libc::CLOCK_MONOTONIC, monotonic_ns as fn() -> u64), (libc::CLOCK_PROCESS_CPUTIME_ID, cpu_ns as fn() -> u64)]
    {
        for _ in 0..50 {
            let (before, found, after) = (read_clock(clock), read(), read_clock(clock));
            assert!((before..=after).contains(&found), "clock {clock}: {before} {found} {after}");
        }
    }
}

#[test]
fn a_call_that_fails_is_an_error_with_its_number() {
    assert_eq!(checked(3).unwrap(), 3);
    assert_eq!(checked(0).unwrap(), 0);
    // SAFETY: no file is open under -1, so nothing is closed.
    let closed = unsafe { libc::close(-1) };
    assert_eq!(checked(closed).unwrap_err().raw_os_error(), Some(libc::EBADF));
    // SAFETY: an empty path names no file.
    let opened = owned(unsafe { libc::open(c"".as_ptr(), libc::O_RDONLY) });
    assert_eq!(opened.unwrap_err().raw_os_error(), Some(libc::ENOENT));
}

#[test]
fn a_request_holds_a_device_name_of_1_to_15_bytes() {
    let request = ifreq("a-name-of-15-by").unwrap();
    let name: Vec<u8> = request.ifr_name.iter().map(|&byte| byte as u8).collect();
    assert_eq!(name, b"a-name-of-15-by\0");
    assert_eq!(MAX_DEVICE_NAME, 15);
    for wrong in ["", "a-name-of-16-byt"] {
        let error = ifreq(wrong).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
        assert_eq!(error.to_string(), format!("device name {wrong:?} has not 1 to 15 bytes"));
    }
}

#[test]
fn a_device_is_looked_up_in_this_namespace_and_an_absent_one_is_an_error() {
    let of = |name: &str| fs::read_to_string(format!("/sys/class/net/lo/{name}")).unwrap().trim().parse().unwrap();
    assert_eq!((mtu("lo").unwrap(), index("lo").unwrap()), (of("mtu"), of("ifindex")));
    wait_until_running("lo").unwrap();
    let absent = "cwndlab-absent";
    let errors =
        [mtu(absent).err(), index(absent).err(), wait_until_running(absent).err(), turn_offloads_off(absent).err()];
    assert_eq!(errors.map(|error| error.unwrap().raw_os_error()), [Some(libc::ENODEV); 4]);
    assert_eq!(PacketSocket::open(absent).map(|_| ()).map_err(|_| ()), Err(()));
    let error = InNamespace::enter(Path::new("/absent/namespace")).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::NotFound);
}

#[test]
fn a_link_address_names_the_protocol_the_device_and_six_bytes() {
    let address = link_address(5, [2, 0, 0, 10, 255, 1]);
    assert_eq!((address.sll_family, address.sll_protocol), (17, 0x0800_u16.to_be())); // AF_PACKET; IPv4
    assert_eq!((address.sll_ifindex, address.sll_halen), (5, 6));
    assert_eq!(address.sll_addr, [2, 0, 0, 10, 255, 1, 0, 0]);
}

#[test]
fn options_of_sockets_are_set() {
    // SAFETY: plain integers.
    let socket = owned(unsafe { libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) }).unwrap();
    set_option(&socket, libc::SOL_SOCKET, libc::SO_PRIORITY, 5).unwrap();
    let (mut value, mut length) = (0, 4);
    let fd = socket.as_raw_fd();
    // SAFETY: `value` is an int of `length` bytes.
    checked(unsafe {
        libc::getsockopt(fd, libc::SOL_SOCKET, libc::SO_PRIORITY, (&raw mut value).cast(), &raw mut length)
    })
    .unwrap();
    assert_eq!((value, length), (5_i32, 4));
    let error = set_option(&socket, libc::SOL_SOCKET, -1, 1).unwrap_err();
    assert_eq!(error.raw_os_error(), Some(libc::ENOPROTOOPT));
}

#[test]
fn a_wait_returns_the_tokens_of_files_with_data_or_ends_after_its_time() {
    let epoll = Epoll::new().unwrap();
    let mut tokens = vec![9, 9];
    let ends: Vec<_> = (0..3).map(|_| UnixStream::pair().unwrap()).collect();
    for (token, (here, _)) in (70..).zip(&ends) {
        epoll.add(here.as_raw_fd(), token).unwrap();
    }
    for ns in [0, 3_000_000] {
        let before = monotonic_ns();
        epoll.wait(Some(ns), &mut tokens).unwrap();
        assert!(monotonic_ns() >= before + ns, "it waits as long as it should");
        assert_eq!(tokens, Vec::<u64>::new());
    }
    for (_, there) in &ends[1..] {
        (&*there).write_all(b"x").unwrap();
    }
    for timeout in [None, Some(0), Some(u64::from(u32::MAX))] {
        epoll.wait(timeout, &mut tokens).unwrap();
        tokens.sort_unstable();
        assert_eq!(tokens, [71, 72]);
    }
    assert_eq!(epoll.add(ends[0].0.as_raw_fd(), 1).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
}

#[test]
fn a_signal_to_end_can_be_read_from_a_file_that_never_blocks() {
    let signals = termination().unwrap();
    let mut tokens = Vec::new();
    let epoll = Epoll::new().unwrap();
    epoll.add(signals.as_raw_fd(), 7).unwrap();
    let fd = signals.as_raw_fd();
    // SAFETY: plain integers.
    let (status, descriptor) = unsafe { (libc::fcntl(fd, libc::F_GETFL), libc::fcntl(fd, libc::F_GETFD)) };
    assert_eq!((status & libc::O_NONBLOCK, descriptor), (libc::O_NONBLOCK, libc::FD_CLOEXEC));
    for signal in [libc::SIGTERM, libc::SIGINT] {
        epoll.wait(Some(0), &mut tokens).unwrap();
        assert_eq!(tokens, Vec::<u64>::new());
        // SAFETY: the signal is for this thread alone, which has blocked it.
        assert_eq!(unsafe { libc::raise(signal) }, 0);
        epoll.wait(Some(0), &mut tokens).unwrap();
        assert_eq!(tokens, [7]);
        let mut information = [0; 128];
        assert_eq!(File::from(signals.try_clone().unwrap()).read(&mut information).unwrap(), 128);
        assert_eq!(information[0], signal as u8);
    }
}

#[test]
fn a_priority_that_the_kernel_does_not_have_is_refused() {
    // SCHED_FIFO has priorities from 1 to 99 (sched(7)); permissions are only looked at after this.
    for priority in [0, 100] {
        assert_eq!(real_time(priority).unwrap_err().raw_os_error(), Some(libc::EINVAL), "{priority}");
    }
}
