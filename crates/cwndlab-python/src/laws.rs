//! Congestion controls written in Python, run by the engine.
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

pyo3::create_exception!(_core, LawFailed, PyRuntimeError, "A run whose congestion control raised an exception.");

fn seconds(time: Time) -> f64 {
    time.as_nanos() as f64 / 1e9
}

/// The information that a congestion control receives about one ACK.
#[pyclass(frozen, module = "cwndlab")]
pub struct AckReport {
    report: cwndlab_tcp::AckReport,
    after: cwndlab_tcp::AfterAck,
    growth_bytes: u64,
}

#[pymethods]
impl AckReport {
    /// When the ACK arrived.
    #[getter]
    fn now_s(&self) -> f64 {
        seconds(self.report.now)
    }
    /// Payload bytes of a full segment.
    #[getter]
    fn mss(&self) -> u32 {
        self.report.mss
    }
    /// Acknowledged bytes for which congestion avoidance may open the window. 0 during recovery, and if cwnd did not
    /// limit the sender. Bytes that the engine's slow start has used to open the window are not included.
    #[getter]
    fn growth_bytes(&self) -> u64 {
        self.growth_bytes
    }
    /// Payload bytes that this ACK newly acknowledges, cumulatively.
    #[getter]
    fn acked_bytes(&self) -> u64 {
        self.report.acked_bytes
    }
    /// Payload bytes that this ACK newly reports by SACK.
    #[getter]
    fn sacked_bytes(&self) -> u64 {
        self.report.sacked_bytes
    }
    /// Payload bytes that this ACK is the first to report as arrived, cumulatively or by SACK.
    #[getter]
    fn delivered_bytes(&self) -> u64 {
        self.report.delivered_bytes
    }
    /// Bytes that the sender newly considers lost because of this ACK.
    #[getter]
    fn lost_bytes(&self) -> u64 {
        self.after.lost_bytes
    }
    /// Bytes sent and not cumulatively acknowledged before this ACK.
    #[getter]
    fn prior_flight_bytes(&self) -> u64 {
        self.report.prior_flight_bytes
    }
    /// Estimated bytes in the network: neither acknowledged, nor reported by SACK, nor lost.
    #[getter]
    fn in_flight_bytes(&self) -> u64 {
        self.after.in_flight_bytes
    }
    /// Estimated bytes in the network before this ACK.
    #[getter]
    fn prior_in_flight_bytes(&self) -> u64 {
        self.report.prior_in_flight_bytes
    }
    /// The part of `delivered_bytes` that the receiver reports as marked CE.
    #[getter]
    fn ce_bytes(&self) -> u64 {
        self.report.ce_bytes
    }
    /// Round-trip time measured by this ACK; None if this ACK gives no measurement.
    #[getter]
    fn rtt_s(&self) -> Option<f64> {
        self.report.rtt.map(seconds)
    }
    /// Smoothed round-trip time, including the measurement by this ACK; 0 before the first measurement.
    #[getter]
    fn srtt_s(&self) -> f64 {
        seconds(self.report.srtt)
    }
    /// The delivery rate sample of this ACK; None if there is none.
    #[getter]
    fn rate(&self) -> Option<RateSample> {
        self.report.rate.map(|sample| RateSample { sample })
    }
    /// Position in the stream of the first byte that is still unacknowledged after this ACK; starts at 1.
    #[getter]
    fn snd_una(&self) -> u64 {
        self.report.snd_una
    }
    /// Position of the next byte to send. A round trip ends once `snd_una` passes an earlier value of `snd_nxt`.
    #[getter]
    fn snd_nxt(&self) -> u64 {
        self.report.snd_nxt
    }
    /// Whether the ACK carries an ECN echo.
    #[getter]
    fn ece(&self) -> bool {
        self.report.ece
    }
    /// Whether the sender is in loss recovery after this ACK.
    #[getter]
    fn in_recovery(&self) -> bool {
        self.after.in_recovery
    }
    fn __repr__(&self) -> String {
        let r = &self.report;
        format!(
            "AckReport(now_s={}, acked_bytes={}, sacked_bytes={}, lost_bytes={}, rtt_s={}, in_recovery={})",
            seconds(r.now),
            r.acked_bytes,
            r.sacked_bytes,
            self.after.lost_bytes,
            r.rtt.map_or("None".into(), |rtt| seconds(rtt).to_string()),
            if self.after.in_recovery { "True" } else { "False" },
        )
    }
}

/// The delivery rate over the time from a segment's transmission to its acknowledgment.
#[pyclass(frozen, module = "cwndlab")]
pub struct RateSample {
    sample: cwndlab_tcp::RateSample,
}

#[pymethods]
impl RateSample {
    /// Bytes delivered in the sampled time.
    #[getter]
    fn delivered_bytes(&self) -> u64 {
        self.sample.delivered_bytes
    }
    /// Length of the sampled time: the longer of the times to send the bytes and to acknowledge them.
    #[getter]
    fn interval_s(&self) -> f64 {
        seconds(self.sample.interval)
    }
    /// The delivery rate in bit/s: `delivered_bytes` over `interval_s`; None if the interval is 0.
    #[getter]
    fn rate_bps(&self) -> Option<f64> {
        let interval = seconds(self.sample.interval);
        (interval > 0.0).then(|| self.sample.delivered_bytes as f64 * 8.0 / interval)
    }
    /// Total bytes that had been delivered when the segment was sent. A congestion control can use this number to count
    /// round trips.
    #[getter]
    fn prior_delivered_bytes(&self) -> u64 {
        self.sample.prior_delivered_bytes
    }
    /// Smallest round-trip time of the last 10 s; None if none was measured.
    #[getter]
    fn min_rtt_s(&self) -> Option<f64> {
        let min_rtt = self.sample.min_rtt;
        (!min_rtt.is_never()).then(|| seconds(min_rtt))
    }
    /// Whether the application limited the sender in the sampled time.
    #[getter]
    fn app_limited(&self) -> bool {
        self.sample.app_limited
    }
    /// Whether the segment was a retransmission.
    #[getter]
    fn retransmission(&self) -> bool {
        self.sample.retransmission
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
}

/// The classes of congestion controls in a run, by the digests of their code.
pub struct Classes {
    pub classes: BTreeMap<u128, Py<PyType>>,
    pub interrupt: Interrupt,
}

/// Parses the digests by which a scenario names the classes.
pub fn by_id(classes: BTreeMap<String, Py<PyType>>) -> PyResult<BTreeMap<u128, Py<PyType>>> {
    let id = |text: &str| text.parse::<LawId>().map_err(|why| PyValueError::new_err(why.to_string()));
    classes.into_iter().map(|(digest, class)| Ok((id(&digest)?.0, class))).collect()
}

impl Laws for Classes {
    fn make(&mut self, id: LawId, flow: &Flow) -> Result<Box<dyn Contract>, LawError> {
        let Some(class) = self.classes.get(&id.0) else {
            return Err(LawError(format!("the congestion control with digest {id} was not given to this run")));
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
            self.on_ack.call1(py, (Bound::new(py, AckReport { report: *report, after: *after, growth_bytes })?,))
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
}
