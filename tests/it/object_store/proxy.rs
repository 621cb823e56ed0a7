//! A proxy between a run and its store, whose connections break at certain requests.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

/// What is lost at the first request with this text in its head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// The request itself.
    Request(&'static str),
    /// The store's answer to it.
    Answer(&'static str),
}

impl Loss {
    fn text(self) -> &'static str {
        match self {
            Self::Request(text) | Self::Answer(text) => text,
        }
    }
}

/// A proxy with the losses that are still to come.
pub struct Proxy {
    port: u16,
    losses: Arc<Mutex<Vec<Loss>>>,
}

impl Proxy {
    /// Starts a proxy in front of a port of this machine.
    pub fn start(target: u16, losses: &[Loss]) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let losses = Arc::new(Mutex::new(losses.to_vec()));
        let shared = Arc::clone(&losses);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                if let Ok(server) = TcpStream::connect((Ipv4Addr::LOCALHOST, target)) {
                    connect(client, server, Arc::clone(&shared));
                }
            }
        });
        Self { port, losses }
    }

    /// Returns its address, for `AWS_ENDPOINT_URL`.
    pub fn endpoint(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Returns the losses that are still to come.
    pub fn left(&self) -> Vec<Loss> {
        self.losses.lock().unwrap().clone()
    }
}

fn connect(client: TcpStream, server: TcpStream, losses: Arc<Mutex<Vec<Loss>>>) {
    let loses_answer = Arc::new(AtomicBool::new(false));
    let (requests, answers) = (client.try_clone().unwrap(), server.try_clone().unwrap());
    let notes = Arc::clone(&loses_answer);
    thread::spawn(move || {
        pass_on(requests, server, |bytes| {
            let text = String::from_utf8_lossy(bytes);
            let mut losses = losses.lock().unwrap();
            let found = losses.iter().position(|loss| text.contains(loss.text()));
            match found.map(|place| losses.remove(place)) {
                Some(Loss::Request(_)) => false,
                Some(Loss::Answer(_)) => {
                    notes.store(true, Ordering::SeqCst);
                    true
                }
                None => true,
            }
        });
    });
    thread::spawn(move || {
        pass_on(answers, client, |_| !loses_answer.load(Ordering::SeqCst));
    });
}

/// Forwards bytes until one side ends or `may_pass` returns false, then closes both.
fn pass_on(mut from: TcpStream, mut to: TcpStream, mut may_pass: impl FnMut(&[u8]) -> bool) {
    let mut bytes = [0; 64 << 10];
    while let Ok(read @ 1..) = from.read(&mut bytes) {
        if !may_pass(&bytes[..read]) || to.write_all(&bytes[..read]).is_err() {
            break;
        }
    }
    for stream in [from, to] {
        // It may be closed already.
        let _ = stream.shutdown(Shutdown::Both);
    }
}
