//! The C interface, called as a kernel calls it.

use serde_json::Value;

use super::*;

/// A kernel with two ports. Its clock moves only while the router waits.
#[derive(Default)]
struct Kernel {
    now_ns: u64,
    /// Packets to come: time, port and bytes, the last one first.
    coming: Vec<(u64, u32, Vec<u8>)>,
    end_ns: u64,
    /// Packets that left: time, port and length.
    left: Vec<(u64, u32, usize)>,
    report: String,
}

impl Kernel {
    fn of<'a>(router: *mut c_void) -> &'a mut Kernel {
        // SAFETY: `router` is the kernel that `run` below passes, and each function uses it alone.
        unsafe { &mut *router.cast::<Kernel>() }
    }

    fn due(&self) -> Option<u32> {
        self.coming.last().filter(|packet| packet.0 <= self.now_ns).map(|packet| packet.1)
    }
}

extern "C" fn now(router: *mut c_void) -> c_ulonglong {
    Kernel::of(router).now_ns
}

extern "C" fn wait(router: *mut c_void, until: c_ulonglong, ready: *mut c_uint, room: c_ulong) -> c_long {
    let kernel = Kernel::of(router);
    assert!(room >= 2);
    if kernel.due().is_none() {
        let next = kernel.coming.last().map_or(u64::MAX, |packet| packet.0);
        kernel.now_ns = kernel.now_ns.max(until.min(next).min(kernel.end_ns));
    }
    let end = (kernel.now_ns >= kernel.end_ns).then_some(END);
    let found: Vec<c_uint> = kernel.due().into_iter().chain(end).collect();
    // SAFETY: there is room for two.
    unsafe { ready.copy_from_nonoverlapping(found.as_ptr(), found.len()) };
    found.len() as c_long
}

extern "C" fn read(router: *mut c_void, port: c_uint, to: *mut u8, room: c_ulong) -> c_long {
    let kernel = Kernel::of(router);
    if kernel.due() != Some(port) {
        return -11; // EAGAIN
    }
    let (_, _, bytes) = kernel.coming.pop().unwrap();
    assert!(bytes.len() as c_ulong <= room);
    // SAFETY: there is room for all bytes.
    unsafe { to.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
    bytes.len() as c_long
}

extern "C" fn write(router: *mut c_void, port: c_uint, _packet: *const u8, length: c_ulong) -> c_long {
    let kernel = Kernel::of(router);
    kernel.left.push((kernel.now_ns, port, length as usize));
    if kernel.left.len() == 3 {
        return -105; // ENOBUFS
    }
    length as c_long
}

extern "C" fn drops(router: *mut c_void, port: c_uint) -> c_ulonglong {
    let kernel = Kernel::of(router);
    if kernel.now_ns < kernel.end_ns {
        5
    } else {
        5 + u64::from(port)
    }
}

extern "C" fn report(router: *mut c_void, text: *const u8, length: c_ulong) {
    // SAFETY: the router passes its text.
    let text = unsafe { slice::from_raw_parts(text, length as usize) };
    String::from_utf8(text.to_vec()).unwrap().clone_into(&mut Kernel::of(router).report);
}

/// Runs the router as the kernel does.
fn run(mut kernel: Kernel, text: &str) -> Kernel {
    let calls = Calls { router: (&raw mut kernel).cast(), now, wait, read, write, drops, report };
    // SAFETY: the text has this length, and the functions are those above.
    unsafe { cwndlab_router_run(text.as_ptr(), text.len() as c_ulong, &raw const calls) };
    kernel
}

/// An IPv4 packet of 1000 bytes to 10.0.0.`to`.
fn packet(to: u8) -> Vec<u8> {
    let mut bytes = vec![0; 1000];
    bytes[..20].copy_from_slice(&[0x45, 0, 3, 232, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 7, 10, 0, 0, to]);
    bytes
}

fn handed_over(scenario: &str) -> String {
    let config = format!(
        r#"{{"seed": 1, "scenario": {scenario},
            "ports": [{{"node": 0, "addresses": ["10.0.0.1"], "device": {{"kind": "tun", "name": "t0"}}}},
                      {{"node": 1, "addresses": ["10.0.0.2"], "device": {{"kind": "tun", "name": "t1"}}}}]}}"#
    );
    let host = Host { kernel: "6.0".into(), real_time: true, mtus: vec![1500, 900] };
    Handover { host, start_ns: 1000 }.with(&config)
}

/// 8 Mb/s and 5 ms in each direction.
const LINKS: &str = r#"{"duration_ns": 1000000000, "nodes": ["a", "b"], "tcp": [], "traffic": [], "links": [
    {"name": "a>b", "from": 0, "to": 1, "rate_bps": 8000000, "delay_ns": 5000000, "queue": {"kind": "infinite"}},
    {"name": "b>a", "from": 1, "to": 0, "rate_bps": 8000000, "delay_ns": 5000000, "queue": {"kind": "infinite"}}]}"#;

#[test]
fn packets_leave_at_their_times_and_the_summary_counts_them() {
    const MS: u64 = 1_000_000;
    let mut coming: Vec<_> =
        [(1, 0, 2), (1, 0, 2), (3, 1, 1), (4, 1, 9)].map(|(ms, port, to)| (ms * MS + 1000, port, packet(to))).into();
    coming.reverse();
    let kernel = run(Kernel { coming, end_ns: 50 * MS, ..Kernel::default() }, &handed_over(LINKS));
    // 1 ms of transmission and 5 ms of delay, after time 0 of the router at 1000 ns
    let left: Vec<_> = kernel.left.iter().map(|&(at, port, bytes)| (at - 1000, port, bytes)).collect();
    assert_eq!(left, [(7 * MS, 1, 1000), (8 * MS, 1, 1000), (9 * MS, 0, 1000)]);
    let summary: Value = serde_json::from_str(&kernel.report).unwrap();
    let ports = &summary["ports"];
    assert_eq!((&summary["kernel"], &summary["real_time"]), (&"6.0".into(), &true.into()));
    assert_eq!((&summary["wall_ns"], &summary["cpu_share"]), (&(50 * MS - 1000).into(), &0.0.into()));
    assert_eq!((&ports[0]["read"], &ports[1]["read"]), (&2.into(), &2.into()));
    assert_eq!(
        (&ports[0]["written"], &ports[0]["write_errors"], &ports[1]["written"]),
        (&0.into(), &1.into(), &2.into())
    );
    assert_eq!((&ports[0]["kernel_drops"], &ports[1]["kernel_drops"]), (&0.into(), &1.into()));
    assert_eq!((&ports[1]["unroutable"], &ports[1]["oversized"]), (&1.into(), &2.into()));
    assert_eq!(summary["lateness_max_ns"], 0);
    assert_eq!(summary["valid"], false);
}

#[test]
fn what_is_wrong_is_reported() {
    let unknown = handed_over(r#"{"duration_ns": 1, "nodes": ["a"], "links": [], "tcp": [], "traffic": []}"#);
    assert_eq!(run(Kernel::default(), &unknown).report, "ports[1]: node 1 does not exist; there are 1");
    let report = run(Kernel::default(), "{}\n").report;
    assert!(report.contains("missing field `host`"), "{report}");
}
