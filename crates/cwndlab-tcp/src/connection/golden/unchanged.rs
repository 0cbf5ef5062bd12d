//! Transfers of every law over the same path, compared with what this crate did when the file was written
//! (`properties::unchanged`).

use super::super::properties::unchanged::{compare, Digest};
use super::*;

/// The queue's limit, its `CoDel`, the lost segment, and what ECN is used.
type Path = (usize, Option<(u64, u64)>, Option<u64>, EcnKind);

const PATHS: [Path; 5] = [
    (12, None, None, EcnKind::Off),
    (300, None, Some(144_800), EcnKind::Off),
    (300, Some((5, 100)), None, EcnKind::Rfc3168),
    (300, Some((1, 1)), None, EcnKind::AccecnEct1),
    (100, None, Some(144_800), EcnKind::Off),
];

fn line(law: WindowLawKind, path: usize, recovery: RecoveryKind) -> String {
    let (limit, codel, lost, ecn) = PATHS[path];
    let base = linux(law);
    let recovery = if recovery == RecoveryKind::Rack { base.recovery } else { Profile::Rfc5681.recovery(recovery) };
    let slow_start = if path == 0 { SlowStartKind::Standard } else { base.slow_start };
    let cfg = TcpConfig { ecn, recovery, slow_start, max_train_segments: 0, ..base };
    // On the last path, data is paced, in trains that are sized by its rate.
    let rates = if path == 4 { [1000, 200] } else { RATES };
    let cfg = if path == 4 { TcpConfig { trains: TrainKind::Linux, pacing: true, ..cfg } } else { cfg };
    let transfer = Transfer { cfg, bytes: 1_500_000, rates, limit, codel, lost };
    let mut digest = Digest::new();
    let mut end_at = Time::ZERO;
    let end = transfer.run(5, |now, seen, segment| {
        digest.add(&(now, seen == Seen::Sent, segment));
        end_at = now;
    });
    digest.add_end(&cfg, &end);
    digest.line(&format!("{law:?} {path} {:?}", recovery.kind()), &end, end_at)
}

#[test]
fn transfers_of_every_law_are_unchanged() {
    let mut lines = Vec::new();
    for law in WindowLawKind::all(Profile::Linux6) {
        for path in 0..PATHS.len() {
            lines.push(line(law, path, RecoveryKind::Rack));
        }
        lines.push(line(law, 0, RecoveryKind::Sack));
    }
    compare("laws", &lines);
}
