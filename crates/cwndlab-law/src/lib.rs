//! Window laws in libraries: what makes a crate of the user's own a library that the Python module loads.
//!
//! Both sides are built of the same crates by the same compiler, which [`ENGINE_DIGEST`] proves, so a boxed trait object
//! can pass between them. A panic cannot: each side has a copy of the standard library, which ends the process at a
//! panic of the other. [`guard`] turns it into a [`LawError`].

use std::cell::RefCell;
use std::fmt;
use std::panic::{catch_unwind, set_hook, AssertUnwindSafe};

use cwndlab_tcp::{AckReport, AfterAck, CongestionControl, LawError, LossEvent, Start, Window};
use cwndlab_units::Time;

/// Digest of the sources of all crates, Cargo.lock and the compiler's version.
pub const ENGINE_DIGEST: &str = env!("CWNDLAB_ENGINE_DIGEST");

/// The name of the function that returns [`ENGINE_DIGEST`], by C's calling convention.
pub const DIGEST_FUNCTION: &str = "cwndlab_law_digest";

/// The name of the function that makes a law: a [`Make`].
pub const MAKE_FUNCTION: &str = "cwndlab_law_make";

/// Makes the law of one end of a connection from the seed of its random numbers.
pub type Make = fn(u64) -> Result<Box<dyn CongestionControl>, LawError>;

/// Defines the two functions of a library whose laws are made by the function `$new`, which takes the seed.
#[macro_export]
macro_rules! library {
    ($new:path) => {
        /// The digest of the sources, with a NUL at its end.
        #[no_mangle]
        pub extern "C" fn cwndlab_law_digest() -> *const ::std::ffi::c_char {
            $crate::terminated_digest().as_ptr()
        }

        /// Makes a law.
        #[no_mangle]
        pub fn cwndlab_law_make(
            seed: u64,
        ) -> Result<Box<dyn $crate::cwndlab_tcp::CongestionControl>, $crate::cwndlab_tcp::LawError> {
            $crate::guard(move || $new(seed))
        }
    };
}

#[doc(hidden)]
pub use cwndlab_tcp;

/// [`ENGINE_DIGEST`] with a NUL at its end.
pub fn terminated_digest() -> &'static std::ffi::CStr {
    const BYTES: &[u8] = concat!(env!("CWNDLAB_ENGINE_DIGEST"), "\0").as_bytes();
    std::ffi::CStr::from_bytes_with_nul(BYTES).unwrap_or_default()
}

thread_local! {
    /// The place and message of the last panic.
    static PANIC: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Makes a law whose panics are errors, with file and line. Replaces this process's panic hook.
///
/// # Errors
///
/// If `make` panics.
pub fn guard<L: CongestionControl + 'static>(make: impl FnOnce() -> L) -> Result<Box<dyn CongestionControl>, LawError> {
    set_hook(Box::new(|info| PANIC.set(info.to_string().replace('\n', " "))));
    let law = caught("new", || Ok(make()))?;
    Ok(Box::new(Wrapped { around: Guard, law: Box::new(law) }))
}

/// Runs a call of the user's code.
fn caught<T>(method: &str, call: impl FnOnce() -> Result<T, LawError>) -> Result<T, LawError> {
    let outcome = catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|_| Err(LawError(PANIC.take())));
    outcome.map_err(|LawError(why)| LawError(format!("{method}: {why}")))
}

/// See [`guard`].
#[derive(Debug)]
struct Guard;

impl Around for Guard {
    fn around(&self, method: &str, call: impl FnOnce() -> Result<(), LawError>) -> Result<(), LawError> {
        caught(method, call)
    }
}

/// What is done around each call of a law that may fail.
pub trait Around: fmt::Debug + Send {
    /// Makes the call of a method.
    ///
    /// # Errors
    ///
    /// Those of the call, and what goes wrong around it.
    fn around(&self, method: &str, call: impl FnOnce() -> Result<(), LawError>) -> Result<(), LawError>;
}

/// A law whose calls are made [`Around::around`].
#[derive(Debug)]
pub struct Wrapped<L: ?Sized, A> {
    /// What is done around the calls.
    pub around: A,
    /// The law.
    pub law: Box<L>,
}

impl<L: CongestionControl + ?Sized, A: Around> CongestionControl for Wrapped<L, A> {
    fn uses_slow_start(&self) -> bool {
        self.law.uses_slow_start()
    }

    fn owns_recovery(&self) -> bool {
        self.law.owns_recovery()
    }

    fn on_start(&mut self, start: &Start, window: &mut Window) -> Result<(), LawError> {
        self.around.around("on_start", || self.law.on_start(start, window))
    }

    fn on_ack(
        &mut self,
        ack: &AckReport,
        after: &AfterAck,
        growth_bytes: u64,
        window: &mut Window,
    ) -> Result<(), LawError> {
        self.around.around("on_ack", || self.law.on_ack(ack, after, growth_bytes, window))
    }

    fn on_loss(&mut self, event: &LossEvent, window: &mut Window) -> Result<(), LawError> {
        self.around.around("on_loss", || self.law.on_loss(event, window))
    }

    fn on_timeout(&mut self, event: &LossEvent, window: &mut Window) -> Result<(), LawError> {
        self.around.around("on_timeout", || self.law.on_timeout(event, window))
    }

    fn on_undo(&mut self, now: Time, window: &mut Window) -> Result<(), LawError> {
        self.around.around("on_undo", || self.law.on_undo(now, window))
    }

    fn on_timer(&mut self, now: Time, window: &mut Window) -> Result<(), LawError> {
        self.around.around("on_timer", || self.law.on_timer(now, window))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Divides(u64);

    impl CongestionControl for Divides {
        fn on_ack(&mut self, ack: &AckReport, _: &AfterAck, _: u64, window: &mut Window) -> Result<(), LawError> {
            window.set_cwnd_bytes((ack.acked_bytes / self.0) as f64);
            Ok(())
        }

        fn on_loss(&mut self, _: &LossEvent, _: &mut Window) -> Result<(), LawError> {
            Err(LawError("no response".to_owned()))
        }
    }

    #[test]
    fn panics_and_errors_of_a_law_name_the_method_and_a_panic_its_line() {
        let mut law = guard(|| Divides(0)).expect("it is made");
        let mut window = Window::new(1000.0, f64::INFINITY);
        let ack = AckReport { acked_bytes: 10, ..AckReport::default() };
        let error = law.on_ack(&ack, &AfterAck::default(), 10, &mut window).unwrap_err().0;
        assert!(error.starts_with("on_ack: panicked at "), "{error}");
        assert!(error.contains("src/lib.rs:") && error.ends_with("attempt to divide by zero"), "{error}");
        let event = cwndlab_tcp::CongestionEvent::Loss;
        let event = LossEvent { now: Time::ZERO, event, flight_bytes: 0, mss: 1000 };
        assert_eq!(law.on_loss(&event, &mut window), Err(LawError("on_loss: no response".to_owned())));
        assert_eq!(law.on_timeout(&event, &mut window), Err(LawError("on_timeout: no response".to_owned())));
        let mut law = guard(|| Divides(2)).expect("it is made");
        assert_eq!(law.on_ack(&ack, &AfterAck::default(), 10, &mut window), Ok(()));
        assert!((window.cwnd_bytes() - 5.0).abs() < f64::EPSILON);
    }

    #[test]
    fn a_law_that_panics_when_it_is_made_is_an_error() {
        let made = guard(|| -> Divides { panic!("no such file") });
        let error = made.map(drop).unwrap_err().0;
        assert!(error.starts_with("new: panicked at ") && error.ends_with("no such file"), "{error}");
    }
}
