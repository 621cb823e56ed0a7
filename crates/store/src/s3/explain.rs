//! Explains a store's errors to the user, with the remedy.

use std::error::Error as _;
use std::io::{self, ErrorKind};

use object_store::Error;

use super::address_of;
use crate::{StoreError, named};

/// Returns whether the bucket is missing, not only an object in it.
pub(super) fn lacks_bucket(error: &Error) -> bool {
    causes(error).contains("NoSuchBucket")
}

/// Returns whether the store understood the request and refuses it, so that a retry does not help.
pub(super) fn is_final(error: &Error) -> bool {
    let causes = causes(error);
    let is_refusal = ["status code: 4", "status code: 501"];
    // RequestTimeout has a 4xx status, but calls for a retry.
    is_refusal.iter().any(|sign| causes.contains(sign)) && !causes.contains("RequestTimeout")
}

/// Signs in the texts of errors that have one cause, with what it is and its remedy.
const KNOWN: [(&[&str], ErrorKind, &str); 4] = [
    (
        &["169.254.169.254", "169.254.170.2", "InstanceCredential"],
        ErrorKind::PermissionDenied,
        "no credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
    ),
    (
        &["RequestTimeTooSkewed"],
        ErrorKind::PermissionDenied,
        "the clock of this machine differs from the store's: set it, then try again",
    ),
    (
        &["ExpiredToken"],
        ErrorKind::PermissionDenied,
        "the session token has expired: set another AWS_SESSION_TOKEN, then try again",
    ),
    (
        &["BadScheme", "URL scheme is not allowed"],
        ErrorKind::InvalidInput,
        "the endpoint uses http: set AWS_ALLOW_HTTP=true, or use https",
    ),
];

/// Turns the client's error into ours.
pub(super) fn explain(bucket: &str, key: &str, error: &Error) -> StoreError {
    let (causes, address) = (causes(error), address_of(bucket, key));
    let has = |signs: &[&str]| signs.iter().any(|sign| causes.contains(sign));
    let said = shorten(&causes);
    let (kind, message) = match error {
        _ if let Some(&(_, kind, message)) = KNOWN.iter().find(|(signs, ..)| has(signs)) => {
            (kind, message.to_owned())
        }
        _ if lacks_bucket(error) => (
            ErrorKind::NotFound,
            format!(
                "the bucket `{bucket}` does not exist: create it, or correct its name or \
                 AWS_ENDPOINT_URL"
            ),
        ),
        Error::NotFound { .. } => (ErrorKind::NotFound, "the object does not exist".to_owned()),
        Error::Precondition { .. } | Error::NotModified { .. } | Error::AlreadyExists { .. } => (
            ErrorKind::StaleNetworkFileHandle,
            "has changed in the meantime; no other program may write there meanwhile".to_owned(),
        ),
        _ if has(&["object with invalid path"]) => (
            ErrorKind::InvalidData,
            format!(
                "a key of the bucket cannot be read here: {said}; rename it, or name another folder"
            ),
        ),
        Error::PermissionDenied { .. } | Error::Unauthenticated { .. } => refused(&said),
        _ if has(&["403 Forbidden", "401 Unauthorized"]) => refused(&said),
        _ => (
            if is_final(error) { ErrorKind::Other } else { ErrorKind::TimedOut },
            format!(
                "the store does not respond as expected: {said}; check AWS_ENDPOINT_URL and the \
                 network, then try again"
            ),
        ),
    };
    named(&address)(io::Error::new(kind, message))
}

fn refused(said: &str) -> (ErrorKind, String) {
    let message = format!(
        "the store rejects these credentials: {said}; check AWS_ACCESS_KEY_ID, \
         AWS_SECRET_ACCESS_KEY and their permissions on this bucket"
    );
    (ErrorKind::PermissionDenied, message)
}

/// Returns the texts of the error and its causes, without repetition.
fn causes(error: &Error) -> String {
    let mut said = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let text = error.to_string();
        if !said.contains(&text) {
            said.push_str(": ");
            said.push_str(&text);
        }
        cause = error.source();
    }
    said
}

/// Shortens an error's text: a store's response can be a page of XML.
fn shorten(said: &str) -> String {
    const LONGEST: usize = 300;
    let line = said.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(status: &str, body: &str) -> Error {
        let source = format!("Server returned non-2xx status code: {status}: {body}");
        Error::Generic { store: "S3", source: source.into() }
    }

    #[test]
    fn refusals_are_final_and_stalled_requests_are_not() {
        for (status, body, finally) in [
            ("400 Bad Request", "<Code>RequestTimeout</Code>", false),
            ("400 Bad Request", "<Code>InvalidArgument</Code>", true),
            ("403 Forbidden", "<Code>RequestTimeTooSkewed</Code>", true),
            ("501 Not Implemented", "", true),
            ("503 Slow Down", "", false),
        ] {
            assert_eq!(is_final(&answer(status, body)), finally, "{status} {body}");
        }
        let broken = super::super::client::broken("the response was cut off");
        assert!(!is_final(&broken));
    }

    #[test]
    fn what_a_store_means_is_explained_with_the_remedy() {
        let long = "x".repeat(400);
        let skewed = format!("<RequestId>{long}</RequestId><Code>RequestTimeTooSkewed</Code>");
        for (error, kind, words) in [
            (
                answer("403 Forbidden", &skewed),
                ErrorKind::PermissionDenied,
                "the clock of this machine",
            ),
            (
                answer("400 Bad Request", "<Code>ExpiredToken</Code>"),
                ErrorKind::PermissionDenied,
                "AWS_SESSION_TOKEN",
            ),
            (
                answer("403 Forbidden", "<Code>AccessDenied</Code>"),
                ErrorKind::PermissionDenied,
                "AWS_ACCESS_KEY_ID",
            ),
            (
                answer("404 Not Found", "<Code>NoSuchBucket</Code>"),
                ErrorKind::NotFound,
                "the bucket `b` does not exist",
            ),
            (answer("501 Not Implemented", ""), ErrorKind::Other, "does not respond as expected"),
            (answer("503 Slow Down", ""), ErrorKind::TimedOut, "does not respond as expected"),
        ] {
            let explained = explain("b", "k", &error);
            assert_eq!(explained.source.kind(), kind, "{explained}");
            assert!(explained.to_string().contains(words), "{explained}");
        }
    }
}
