//! The exported functions. They read and write only buffers of this module and dereference no pointer that a web page
//! passes.

use std::cell::RefCell;
use std::panic;

use cwndlab_records::Records;

use crate::layout::Tables;
use crate::simulate;

/// State that is kept between calls.
#[derive(Default)]
struct State {
    input: Vec<u8>,
    text: String,
    /// Keeps the columns alive at the addresses in [`Tables`].
    records: Option<Records>,
}

thread_local! {
    static STATE: RefCell<State> = RefCell::default();
}

/// Reserves `len` bytes for the scenario's JSON; returns their address.
#[expect(unsafe_code, reason = "exports the function by its name; the module has no other of this name")]
#[no_mangle]
pub extern "C" fn input(len: usize) -> *mut u8 {
    STATE.with_borrow_mut(|state| {
        state.input = vec![0; len];
        state.input.as_mut_ptr()
    })
}

/// Runs one replicate of the scenario that the web page wrote to the buffer of [`input`]. Returns 1 if the run
/// succeeded: [`text`] is then the layout of the run's tables. Returns 0 if it failed: [`text`] is then the error
/// message. If `with_digest` is not 0, the layout includes the digest of the records.
#[expect(unsafe_code, reason = "exports the function by its name; the module has no other of this name")]
#[no_mangle]
pub extern "C" fn run(seed: u64, replicate: u64, with_digest: u32) -> u32 {
    // A panic ends the call with a trap. The hook stores the panic's message, so that the web page can read it by
    // `text`.
    panic::set_hook(Box::new(|info| set_text(format!("the engine failed: {info}"))));
    let json = STATE.with_borrow_mut(|state| std::mem::take(&mut state.input));
    let done = std::str::from_utf8(&json)
        .map_err(|error| format!("the scenario is not UTF-8: {error}"))
        .and_then(|json| simulate(json, seed, replicate))
        .and_then(|records| {
            let digest = (with_digest != 0).then(|| records.digest());
            let text = serde_json::to_string(&Tables::of(&records, digest)).map_err(|error| error.to_string())?;
            STATE.with_borrow_mut(|state| state.records = Some(records));
            Ok(text)
        });
    let succeeded = done.is_ok();
    set_text(done.unwrap_or_else(|error| error));
    u32::from(succeeded)
}

/// Address of the result of the last [`run`]: the layout of the tables, or the error message.
#[expect(unsafe_code, reason = "exports the function by its name; the module has no other of this name")]
#[no_mangle]
pub extern "C" fn text() -> *const u8 {
    STATE.with_borrow(|state| state.text.as_ptr())
}

/// Length of the text at [`text`], in bytes of UTF-8.
#[expect(unsafe_code, reason = "exports the function by its name; the module has no other of this name")]
#[no_mangle]
pub extern "C" fn text_len() -> usize {
    STATE.with_borrow(|state| state.text.len())
}

fn set_text(text: String) {
    STATE.with_borrow_mut(|state| state.text = text);
}
