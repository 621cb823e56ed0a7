//! An HTTP endpoint that answers GET and HEAD of `/metrics`, and nothing else.
//!
//! It must never harm the run: it serves one client at a time, each with a deadline, so that a client that
//! connects and sends nothing costs one socket for two seconds, and no further thread. (Among crates,
//! tiny_http has no deadlines and one thread per connection; the others bring a runtime.)

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::thread;
use std::time::{Duration, Instant};

/// How long a client may take, from its connection to its last byte.
const CLIENT_LIMIT: Duration = Duration::from_secs(2);
/// Maximum number of bytes read of a request.
const MOST_REQUEST_BYTES: usize = 8 * 1024;
/// Pause after a failure to accept.
const PAUSE: Duration = Duration::from_millis(200);
/// The content type of OpenMetrics.
const OPENMETRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Serves what `render` returns at `host:port` + `process` (any port if `port` is 0) from its own thread until
/// the process ends; returns the address.
///
/// # Errors
/// The address is invalid, or the process cannot listen on it.
pub(super) fn serve(
    address: &str,
    process: usize,
    render: impl Fn() -> String + Send + 'static,
) -> io::Result<SocketAddr> {
    let listener = TcpListener::bind(&shifted(address, process)?[..])?;
    let bound = listener.local_addr()?;
    thread::Builder::new().name("metrics".to_owned()).spawn(move || {
        for client in listener.incoming() {
            match client {
                // A client that disconnects does not concern the run.
                Ok(client) => drop(answer(client, &render)),
                Err(_) => thread::sleep(PAUSE),
            }
        }
    })?;
    Ok(bound)
}

/// Resolves the address, with the process's port.
fn shifted(address: &str, process: usize) -> io::Result<Vec<SocketAddr>> {
    let shift = |mut address: SocketAddr| {
        let port = usize::from(address.port());
        if port > 0 {
            address.set_port(u16::try_from(port + process).ok()?);
        }
        Some(address)
    };
    let shifted: Option<Vec<SocketAddr>> = address.to_socket_addrs()?.map(shift).collect();
    let too_high = || io::Error::other(format!("PORT + {process} is not a valid port"));
    shifted.ok_or_else(too_high)
}

fn answer(mut client: TcpStream, render: &impl Fn() -> String) -> io::Result<()> {
    let ends = Instant::now() + CLIENT_LIMIT;
    let request = read_head(&mut client, ends)?;
    let (status, content_type, body) = match path(&request) {
        Some("/metrics") => ("200 OK", OPENMETRICS, render()),
        Some("/") => ("200 OK", "text/plain", "topicmill: see /metrics\n".to_owned()),
        _ => ("404 Not Found", "text/plain", "see /metrics\n".to_owned()),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n",
        body.len()
    );
    let body = if request.starts_with(b"HEAD ") { "" } else { &body };
    let mut rest = [head.as_bytes(), body.as_bytes()].concat();
    while !rest.is_empty() {
        client.set_write_timeout(Some(left(ends)?))?;
        let written = client.write(&rest)?;
        rest.drain(..written);
    }
    Ok(())
}

/// Reads up to the empty line that ends the head of a request.
fn read_head(client: &mut TcpStream, ends: Instant) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    let mut buffer = [0; 1024];
    while !head.windows(4).any(|four| four == b"\r\n\r\n") {
        client.set_read_timeout(Some(left(ends)?))?;
        let read = client.read(&mut buffer)?;
        head.extend_from_slice(&buffer[..read]);
        if read == 0 || head.len() > MOST_REQUEST_BYTES {
            return Err(io::ErrorKind::InvalidData.into());
        }
    }
    Ok(head)
}

/// Returns the time until `ends`; fails if it has passed.
fn left(ends: Instant) -> io::Result<Duration> {
    let left = ends.saturating_duration_since(Instant::now());
    match left.is_zero() {
        true => Err(io::ErrorKind::TimedOut.into()),
        false => Ok(left),
    }
}

/// Returns the path of a GET or HEAD request, without its query.
fn path(request: &[u8]) -> Option<&str> {
    let line = request.split(|&byte| byte == b'\r').next()?;
    let mut words = std::str::from_utf8(line).ok()?.split(' ');
    let (method, target, version) = (words.next()?, words.next()?, words.next()?);
    let is_known = ["GET", "HEAD"].contains(&method) && version.starts_with("HTTP/1.");
    target.split('?').next().filter(|_| is_known)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(address: SocketAddr, request: &str) -> String {
        let mut client = TcpStream::connect(address).unwrap();
        client.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        client.read_to_string(&mut answer).unwrap();
        answer
    }

    fn server() -> SocketAddr {
        serve("127.0.0.1:0", 3, || "# EOF\n".to_owned()).unwrap()
    }

    #[test]
    fn metrics_are_given_and_nothing_else() {
        let address = server();
        let answer = ask(address, "GET /metrics?x=1 HTTP/1.1\r\nHost: h\r\n\r\n");
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
        assert!(answer.contains("application/openmetrics-text; version=1.0.0"));
        assert!(answer.ends_with("\r\n\r\n# EOF\n"), "{answer}");
        let head = ask(address, "HEAD /metrics HTTP/1.1\r\n\r\n");
        assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
        assert!(head.contains("Content-Length: 6\r\n") && head.ends_with("\r\n\r\n"));
        for request in ["GET /x HTTP/1.1", "POST /metrics HTTP/1.1", "nonsense"] {
            let answer = ask(address, &format!("{request}\r\n\r\n"));
            assert!(answer.starts_with("HTTP/1.1 404"), "{request}: {answer}");
        }
        assert!(ask(address, "GET / HTTP/1.0\r\n\r\n").starts_with("HTTP/1.1 200"));
    }

    #[test]
    fn silent_and_endless_clients_are_left_after_a_while() {
        let address = server();
        let silent: Vec<_> = (0..3).map(|_| TcpStream::connect(address).unwrap()).collect();
        let mut endless = TcpStream::connect(address).unwrap();
        endless.write_all(&[b'x'; 2 * MOST_REQUEST_BYTES]).unwrap();
        let begun = Instant::now();
        let answer = ask(address, "GET /metrics HTTP/1.1\r\n\r\n");
        assert!(answer.ends_with("# EOF\n"), "{answer}");
        assert!(begun.elapsed() < 4 * CLIENT_LIMIT + PAUSE);
        drop(silent);
    }

    #[test]
    fn processes_listen_at_ports_of_their_own() {
        let port = |address, process| Some(shifted(address, process).ok()?[0].port());
        assert_eq!(port("127.0.0.1:9400", 2), Some(9402));
        assert_eq!(port("127.0.0.1:0", 2), Some(0));
        assert_eq!(port("127.0.0.1:65535", 1), None);
        assert_eq!(port("nonsense", 0), None);
    }
}
