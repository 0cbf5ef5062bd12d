//! Congestion controls of the user's own, run by the engine: classes in Python, and libraries in Rust.
#![expect(clippy::cast_precision_loss, reason = "times and byte counts of a run stay far below 2^53")]

use std::collections::BTreeMap;
use std::sync::Arc;

use cwndlab_engine::{Flow, Laws};
use cwndlab_tcp::{CongestionControl as Contract, CongestionEvent, LawError, LawId, Start, Window};
use cwndlab_units::Time;
use pyo3::exceptions::{PyNotImplementedError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple, PyType};

use crate::law_errors::{failed, Interrupt};
use crate::native_laws::NativeLaw;

pyo3::create_exception!(_core, LawFailed, PyRuntimeError, "A run whose congestion control raised an exception.");

fn seconds(time: Time) -> f64 {
    time.as_nanos() as f64 / 1e9
}

/// The information that a congestion control receives about one ACK.
#[pyclass(frozen, get_all, module = "cwndlab")]
pub struct AckReport {
    /// When the ACK arrived.
    now_s: f64,
    /// Payload bytes of a full segment.
    mss: u32,
    /// Acknowledged bytes for which congestion avoidance may open the window. 0 during recovery, and if cwnd did not
    /// limit the sender. Bytes that the engine's slow start has used to open the window are not included.
    growth_bytes: u64,
    /// Payload bytes that this ACK newly acknowledges, cumulatively.
    acked_bytes: u64,
    /// Payload bytes that this ACK newly reports by SACK.
    sacked_bytes: u64,
    /// Payload bytes that this ACK is the first to report as arrived, cumulatively or by SACK.
    delivered_bytes: u64,
    /// Bytes that the sender newly considers lost because of this ACK.
    lost_bytes: u64,
    /// Bytes sent and not cumulatively acknowledged before this ACK.
    prior_flight_bytes: u64,
    /// Estimated bytes in the network: neither acknowledged, nor reported by SACK, nor lost.
    in_flight_bytes: u64,
    /// Estimated bytes in the network before this ACK.
    prior_in_flight_bytes: u64,
    /// The part of `delivered_bytes` that the receiver reports as marked CE.
    ce_bytes: u64,
    /// Round-trip time measured by this ACK; None if this ACK gives no measurement.
    rtt_s: Option<f64>,
    /// Smoothed round-trip time, including the measurement by this ACK; 0 before the first measurement.
    srtt_s: f64,
    /// The delivery rate sample of this ACK; None if there is none.
    rate: Option<RateSample>,
    /// Position in the stream of the first byte that is still unacknowledged after this ACK; starts at 1.
    snd_una: u64,
    /// Position of the next byte to send. A round trip ends once `snd_una` passes an earlier value of `snd_nxt`.
    snd_nxt: u64,
    /// Whether the ACK carries an ECN echo.
    ece: bool,
    /// Whether the sender is in loss recovery after this ACK.
    in_recovery: bool,
}

impl AckReport {
    fn new(report: &cwndlab_tcp::AckReport, after: &cwndlab_tcp::AfterAck, growth_bytes: u64) -> AckReport {
        AckReport {
            now_s: seconds(report.now),
            mss: report.mss,
            growth_bytes,
            acked_bytes: report.acked_bytes,
            sacked_bytes: report.sacked_bytes,
            delivered_bytes: report.delivered_bytes,
            lost_bytes: after.lost_bytes,
            prior_flight_bytes: report.prior_flight_bytes,
            in_flight_bytes: after.in_flight_bytes,
            prior_in_flight_bytes: report.prior_in_flight_bytes,
            ce_bytes: report.ce_bytes,
            rtt_s: report.rtt.map(seconds),
            srtt_s: seconds(report.srtt),
            rate: report.rate.as_ref().map(RateSample::new),
            snd_una: report.snd_una,
            snd_nxt: report.snd_nxt,
            ece: report.ece,
            in_recovery: after.in_recovery,
        }
    }
}

#[pymethods]
impl AckReport {
    fn __repr__(&self) -> String {
        format!(
            "AckReport(now_s={}, acked_bytes={}, sacked_bytes={}, lost_bytes={}, rtt_s={}, in_recovery={})",
            self.now_s,
            self.acked_bytes,
            self.sacked_bytes,
            self.lost_bytes,
            self.rtt_s.map_or("None".into(), |rtt| rtt.to_string()),
            if self.in_recovery { "True" } else { "False" },
        )
    }
}

/// The delivery rate over the time from a segment's transmission to its acknowledgment.
#[pyclass(frozen, get_all, module = "cwndlab")]
#[derive(Clone, Copy)]
pub struct RateSample {
    /// Bytes delivered in the sampled time.
    delivered_bytes: u64,
    /// Length of the sampled time: the longer of the times to send the bytes and to acknowledge them.
    interval_s: f64,
    /// The delivery rate in bit/s: `delivered_bytes` over `interval_s`; None if the interval is 0.
    rate_bps: Option<f64>,
    /// Total bytes that had been delivered when the segment was sent. A congestion control can use this number to count
    /// round trips.
    prior_delivered_bytes: u64,
    /// Smallest round-trip time of the last 10 s; None if none was measured.
    min_rtt_s: Option<f64>,
    /// Whether the application limited the sender in the sampled time.
    app_limited: bool,
    /// Whether the segment was a retransmission.
    retransmission: bool,
}

impl RateSample {
    fn new(sample: &cwndlab_tcp::RateSample) -> RateSample {
        let interval_s = seconds(sample.interval);
        RateSample {
            delivered_bytes: sample.delivered_bytes,
            interval_s,
            rate_bps: (interval_s > 0.0).then(|| sample.delivered_bytes as f64 * 8.0 / interval_s),
            prior_delivered_bytes: sample.prior_delivered_bytes,
            min_rtt_s: (!sample.min_rtt.is_never()).then(|| seconds(sample.min_rtt)),
            app_limited: sample.app_limited,
            retransmission: sample.retransmission,
        }
    }
}

/// The reason for a reduction of the window.
#[pyclass(frozen, module = "cwndlab")]
pub struct LossEvent {
    event: cwndlab_tcp::LossEvent,
}

#[pymethods]
impl LossEvent {
    /// When the event was detected, in simulated seconds.
    #[getter]
    fn now_s(&self) -> f64 {
        seconds(self.event.now)
    }
    /// The kind of event: "loss", "ecn" or "timeout".
    #[getter]
    fn kind(&self) -> &'static str {
        match self.event.event {
            CongestionEvent::Loss => "loss",
            CongestionEvent::Ecn => "ecn",
            CongestionEvent::Rto | CongestionEvent::RtoRepeat => "timeout",
        }
    }
    /// Whether the event is a repeated timeout for the same data.
    #[getter]
    fn repeated(&self) -> bool {
        self.event.event == CongestionEvent::RtoRepeat
    }
    /// Bytes sent and not cumulatively acknowledged (RFC 5681's FlightSize).
    #[getter]
    fn flight_bytes(&self) -> u64 {
        self.event.flight_bytes
    }
    /// Payload bytes of a full segment.
    #[getter]
    fn mss(&self) -> u32 {
        self.event.mss
    }
    fn __repr__(&self) -> String {
        format!("LossEvent(now_s={}, kind='{}', flight_bytes={})", self.now_s(), self.kind(), self.event.flight_bytes)
    }
}

/// Base class of congestion controls written in Python.
#[pyclass(subclass, module = "cwndlab")]
pub struct CongestionControl {
    window: Window,
    seed: Option<u64>,
    random: Option<Py<PyAny>>,
}

fn bytes(name: &str, value: f64) -> PyResult<f64> {
    if value.is_nan() || value < 0.0 {
        return Err(PyValueError::new_err(format!("{name} must be a number of at least 0, not {value}")));
    }
    Ok(value)
}

#[pymethods]
impl CongestionControl {
    #[new]
    #[pyo3(signature = (*_arguments, **_keywords))]
    fn new(_arguments: &Bound<'_, PyTuple>, _keywords: Option<&Bound<'_, PyDict>>) -> CongestionControl {
        CongestionControl { window: Window::new(0.0, f64::INFINITY), seed: None, random: None }
    }

    /// Class attribute: whether the engine's slow start opens the window up to `ssthresh_bytes`.
    #[classattr]
    fn uses_slow_start() -> bool {
        true
    }
    /// Class attribute: whether `cwnd_bytes` also applies in recovery. If False, the engine sets the window during
    /// recovery.
    #[classattr]
    fn owns_recovery() -> bool {
        false
    }
    /// Class attribute: whether the congestion control draws random numbers, so that replicates differ.
    #[classattr]
    fn uses_random() -> bool {
        false
    }

    /// The congestion window, in whole bytes; at least one segment. The engine sets it in recovery, after timeouts and
    /// after idle times, so read it at each call.
    #[getter]
    fn cwnd_bytes(&self) -> f64 {
        self.window.cwnd_bytes()
    }
    #[setter]
    fn set_cwnd_bytes(&mut self, value: f64) -> PyResult<()> {
        self.window.set_cwnd_bytes(bytes("cwnd_bytes", value)?);
        Ok(())
    }
    /// The slow-start threshold, infinite at first. When the sender leaves loss recovery, this becomes its window.
    /// After `on_loss` it equals `cwnd_bytes`, unless `on_loss` sets it.
    #[getter]
    fn ssthresh_bytes(&self) -> f64 {
        self.window.ssthresh_bytes()
    }
    #[setter]
    fn set_ssthresh_bytes(&mut self, value: f64) -> PyResult<()> {
        self.window.set_ssthresh_bytes(bytes("ssthresh_bytes", value)?);
        Ok(())
    }

    /// The pacing rate in bit/s. If it is None, the study's `pacing` applies.
    #[getter]
    fn pacing_rate_bps(&self) -> Option<f64> {
        self.window.pacing_rate_bps
    }
    #[setter]
    fn set_pacing_rate_bps(&mut self, value: Option<f64>) -> PyResult<()> {
        if let Some(rate) = value.filter(|rate| rate.is_nan() || *rate <= 0.0) {
            return Err(PyValueError::new_err(format!("pacing_rate_bps must be above 0 or None, not {rate}")));
        }
        self.window.pacing_rate_bps = value;
        Ok(())
    }

    /// When `on_timer` is called, in simulated seconds and later than now; None for no call. It is None again when the
    /// call comes.
    #[getter]
    fn timer_s(&self) -> Option<f64> {
        Some(self.window.timer).filter(|timer| !timer.is_never()).map(seconds)
    }
    #[setter]
    fn set_timer_s(&mut self, value: Option<f64>) -> PyResult<()> {
        if let Some(timer) = value.filter(|timer| timer.is_nan() || *timer < 0.0) {
            return Err(PyValueError::new_err(format!("timer_s must be a time or None, not {timer}")));
        }
        self.window.timer = value.map_or(Time::MAX, Time::from_secs_f64);
        Ok(())
    }

    /// The random number generator of this congestion control, seeded from the run's seed, the replicate and the flow.
    /// The class must set `uses_random = True`.
    #[getter]
    fn random(slf: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        let py = slf.py();
        if let Some(random) = &slf.borrow().random {
            return Ok(random.clone_ref(py));
        }
        if !slf.get_type().getattr("uses_random")?.is_truthy()? {
            return Err(PyRuntimeError::new_err(
                "this class draws no random numbers; write `uses_random = True` in it",
            ));
        }
        let Some(seed) = slf.borrow().seed else {
            return Err(PyRuntimeError::new_err("random numbers can be drawn from on_start on"));
        };
        let made = py.import("random")?.call_method1("Random", (seed,))?.unbind();
        slf.borrow_mut().random = Some(made.clone_ref(py));
        Ok(made)
    }

    /// Called when the connection is established; `cwnd_bytes` is then the configured initial window.
    #[pyo3(signature = (now_s, mss, /))]
    #[expect(unused_variables, clippy::unused_self, reason = "the signature of what subclasses override")]
    fn on_start(&self, now_s: f64, mss: u32) {}

    /// Called for each ACK with new information, also during recovery.
    #[pyo3(signature = (ack, /))]
    #[expect(unused_variables, clippy::unused_self, reason = "the signature of what subclasses override")]
    fn on_ack(&self, ack: &Bound<'_, AckReport>) -> PyResult<()> {
        Err(PyNotImplementedError::new_err("this class has no on_ack"))
    }

    /// Called once per episode of losses or ECN echoes, and by `on_timeout`. A subclass reduces `cwnd_bytes` here.
    #[pyo3(signature = (event, /))]
    #[expect(unused_variables, clippy::unused_self, reason = "the signature of what subclasses override")]
    fn on_loss(&self, event: &Bound<'_, LossEvent>) -> PyResult<()> {
        Err(PyNotImplementedError::new_err("this class has no on_loss"))
    }

    /// Called when the retransmission timer expires. The default follows RFC 5681, section 3.1: it calls `on_loss`
    /// unless the timeout is repeated, and then sets `cwnd_bytes` to one segment.
    #[pyo3(signature = (event, /))]
    fn on_timeout(slf: &Bound<'_, Self>, event: &Bound<'_, LossEvent>) -> PyResult<()> {
        let inner = event.get();
        if !inner.repeated() {
            slf.call_method1("on_loss", (event,))?;
        }
        let window = &mut slf.borrow_mut().window;
        if !inner.repeated() {
            window.follow();
        }
        window.set_cwnd_bytes(f64::from(inner.mss()));
        Ok(())
    }

    /// Called when the last reduction proves to be spurious. The engine has already raised `cwnd_bytes` to at least its
    /// value before the reduction.
    #[pyo3(signature = (now_s, /))]
    #[expect(unused_variables, clippy::unused_self, reason = "the signature of what subclasses override")]
    fn on_undo(&self, now_s: f64) {}

    /// Called at `timer_s`, while the connection is open.
    #[pyo3(signature = (now_s, /))]
    #[expect(unused_variables, clippy::unused_self, reason = "the signature of what subclasses override")]
    fn on_timer(&self, now_s: f64) {}
}

/// A congestion control of the user's own.
#[derive(FromPyObject)]
pub enum OwnLaw {
    #[pyo3(transparent)]
    Class(Py<PyType>),
    #[pyo3(transparent)]
    Native(Py<NativeLaw>),
}

/// The congestion controls of the user's own in a run, by the digests of their code.
pub struct OwnLaws {
    pub laws: BTreeMap<u128, OwnLaw>,
    pub interrupt: Interrupt,
}

impl OwnLaws {
    /// Whether all of them are in Rust, so that the run needs no GIL.
    pub fn are_native(&self) -> bool {
        self.laws.values().all(|law| matches!(law, OwnLaw::Native(_)))
    }
}

/// Parses the digests by which a scenario names them.
pub fn by_id(laws: BTreeMap<String, OwnLaw>) -> PyResult<BTreeMap<u128, OwnLaw>> {
    let id = |text: &str| text.parse::<LawId>().map_err(|why| PyValueError::new_err(why.to_string()));
    laws.into_iter().map(|(digest, law)| Ok((id(&digest)?.0, law))).collect()
}

impl Laws for OwnLaws {
    fn make(&mut self, id: LawId, flow: &Flow) -> Result<Box<dyn Contract>, LawError> {
        let class = match self.laws.get(&id.0) {
            Some(OwnLaw::Class(class)) => class,
            Some(OwnLaw::Native(law)) => return law.get().make(flow.seed),
            None => {
                return Err(LawError(format!("the congestion control with digest {id} was not given to this run")));
            }
        };
        Python::attach(|py| {
            let class = class.bind(py);
            let name = class.name().map_or_else(|_| "?".to_owned(), |name| name.to_string());
            let made = || -> PyResult<PyLaw> {
                let object = class.call0()?.cast_into::<CongestionControl>().map_err(PyErr::from)?;
                object.borrow_mut().seed = Some(flow.seed);
                Ok(PyLaw {
                    on_ack: object.getattr("on_ack")?.unbind(),
                    uses_slow_start: class.getattr("uses_slow_start")?.is_truthy()?,
                    owns_recovery: class.getattr("owns_recovery")?.is_truthy()?,
                    object: object.unbind(),
                    name: name.clone(),
                    interrupt: Arc::clone(&self.interrupt),
                })
            };
            let law = made().map_err(|error| failed(py, error, &name, "__init__", &self.interrupt))?;
            Ok(Box::new(law) as Box<dyn Contract>)
        })
    }
}

/// An instance of a user's class, at one end of a connection.
#[derive(Debug)]
struct PyLaw {
    object: Py<CongestionControl>,
    /// The bound method, stored because it is called for each ACK.
    on_ack: Py<PyAny>,
    uses_slow_start: bool,
    owns_recovery: bool,
    name: String,
    interrupt: Interrupt,
}

impl PyLaw {
    fn call(
        &self,
        method: &str,
        window: &mut Window,
        call: impl FnOnce(Python<'_>, &Bound<'_, CongestionControl>) -> PyResult<Py<PyAny>>,
    ) -> Result<(), LawError> {
        Python::attach(|py| {
            let object = self.object.bind(py);
            object.borrow_mut().window = *window;
            call(py, object).map_err(|error| failed(py, error, &self.name, method, &self.interrupt))?;
            *window = object.borrow().window;
            Ok(())
        })
    }
}

impl Contract for PyLaw {
    fn uses_slow_start(&self) -> bool {
        self.uses_slow_start
    }

    fn owns_recovery(&self) -> bool {
        self.owns_recovery
    }

    fn on_start(&mut self, start: &Start, window: &mut Window) -> Result<(), LawError> {
        self.call("on_start", window, |_, object| {
            object.call_method1("on_start", (seconds(start.now), start.mss)).map(Bound::unbind)
        })
    }

    fn on_ack(
        &mut self,
        report: &cwndlab_tcp::AckReport,
        after: &cwndlab_tcp::AfterAck,
        growth_bytes: u64,
        window: &mut Window,
    ) -> Result<(), LawError> {
        self.call("on_ack", window, |py, _| {
            self.on_ack.call1(py, (Bound::new(py, AckReport::new(report, after, growth_bytes))?,))
        })
    }

    fn on_loss(&mut self, event: &cwndlab_tcp::LossEvent, window: &mut Window) -> Result<(), LawError> {
        self.call("on_loss", window, |py, object| {
            object.call_method1("on_loss", (Bound::new(py, LossEvent { event: *event })?,)).map(Bound::unbind)
        })
    }

    fn on_timeout(&mut self, event: &cwndlab_tcp::LossEvent, window: &mut Window) -> Result<(), LawError> {
        self.call("on_timeout", window, |py, object| {
            object.call_method1("on_timeout", (Bound::new(py, LossEvent { event: *event })?,)).map(Bound::unbind)
        })
    }

    fn on_undo(&mut self, now: Time, window: &mut Window) -> Result<(), LawError> {
        self.call("on_undo", window, |_, object| object.call_method1("on_undo", (seconds(now),)).map(Bound::unbind))
    }

    fn on_timer(&mut self, now: Time, window: &mut Window) -> Result<(), LawError> {
        self.call("on_timer", window, |_, object| object.call_method1("on_timer", (seconds(now),)).map(Bound::unbind))
    }
}
