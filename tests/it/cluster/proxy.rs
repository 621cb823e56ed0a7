//! A bad network: a port that forwards connections as the test requires.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use parking_lot::Mutex;

/// Forwards everything immediately.
pub const OPEN: u8 = 0;
/// Forwards 4 KiB ten times a second.
pub const SLOW: u8 = 1;
/// Reads nothing, forwards nothing and closes nothing.
pub const BLOCKED: u8 = 2;

/// A port in front of another.
pub struct Proxy {
    pub address: String,
    flow: Arc<AtomicU8>,
    from_callers: Arc<Mutex<Vec<u8>>>,
}

impl Proxy {
    /// Creates a proxy for `target`, which need not listen yet.
    pub fn new(target: &str) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let proxy = Proxy {
            address: listener.local_addr().unwrap().to_string(),
            flow: Arc::default(),
            from_callers: Arc::default(),
        };
        let (flow, said) = (Arc::clone(&proxy.flow), Arc::clone(&proxy.from_callers));
        let target = target.to_owned();
        std::thread::spawn(move || {
            for caller in listener.incoming().map_while(Result::ok) {
                let Ok(called) = TcpStream::connect(&target) else {
                    continue;
                };
                let (back, forth) = (called.try_clone().unwrap(), caller.try_clone().unwrap());
                let (flow_back, flow_forth) = (Arc::clone(&flow), Arc::clone(&flow));
                let said = Arc::clone(&said);
                std::thread::spawn(move || pass(caller, called, &flow_forth, Some(&said)));
                std::thread::spawn(move || pass(back, forth, &flow_back, None));
            }
        });
        proxy
    }

    /// Changes how data is forwarded from now on.
    pub fn set(&self, flow: u8) {
        self.flow.store(flow, Ordering::SeqCst);
    }

    /// Returns the bytes that callers have sent so far.
    pub fn overheard(&self) -> Vec<u8> {
        self.from_callers.lock().clone()
    }
}

/// Forwards one direction until it ends.
fn pass(mut from: TcpStream, mut to: TcpStream, flow: &AtomicU8, said: Option<&Mutex<Vec<u8>>>) {
    let mut buffer = vec![0; 4096];
    loop {
        match flow.load(Ordering::SeqCst) {
            SLOW => std::thread::sleep(Duration::from_millis(100)),
            BLOCKED => {
                std::thread::sleep(Duration::from_millis(20));
                continue;
            }
            _ => {}
        }
        match from.read(&mut buffer) {
            Ok(0) | Err(_) => break,
            Ok(bytes) => {
                if let Some(said) = said {
                    said.lock().extend_from_slice(&buffer[..bytes]);
                }
                // Data in flight when the link is cut does not arrive.
                while flow.load(Ordering::SeqCst) == BLOCKED {
                    std::thread::sleep(Duration::from_millis(20));
                }
                if to.write_all(&buffer[..bytes]).is_err() {
                    break;
                }
            }
        }
    }
    let _ = to.shutdown(Shutdown::Write);
}
