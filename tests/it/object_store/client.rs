//! The client and its lock against a real server. Settings come from the environment, so these
//! checks run in a child of the test: this binary, with other variables.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

use store::s3::lease::{Lease, Terms};
use store::s3::{Bucket, Condition, S3};
use store::{Locking, Store};

use super::server::{BUCKET, Server};
use crate::stores::{Subject, conforms, keeps_what_it_has};

/// The variable that marks the child, with the MiB of the large object.
const CHILD: &str = "TOPICMILL_TEST_CHILD_MIB";

#[test]
fn the_client_and_its_lock_keep_what_they_promise() {
    if let Ok(mebibytes) = std::env::var(CHILD) {
        let bucket = Bucket::open(BUCKET).unwrap();
        conditions(&bucket);
        large_objects(&bucket, mebibytes.parse().unwrap());
        leases(&bucket);
        stores();
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let Some(server) = Server::start(&folder.path().join("store")) else {
        return;
    };
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "--nocapture"]);
    command.arg("object_store::client::the_client_and_its_lock_keep_what_they_promise");
    let mebibytes = std::env::var("TOPICMILL_TEST_MIB").unwrap_or_else(|_| "20".to_owned());
    server.set(&mut command).env(CHILD, mebibytes);
    assert!(command.status().unwrap().success());
}

fn conditions(bucket: &Bucket) {
    let put = |text: &str, condition| bucket.put("c", text.as_bytes(), condition).unwrap();
    assert_eq!(bucket.get("c").unwrap(), None);
    let first = put("first", Condition::Absent).unwrap();
    assert_eq!(put("late", Condition::Absent), None);
    let second = put("second", Condition::Unchanged(&first)).unwrap();
    assert_eq!(put("late", Condition::Unchanged(&first)), None);
    let (meta, text) = bucket.get("c").unwrap().unwrap();
    assert_eq!((meta.etag, text.as_slice()), (second, "second".as_bytes()));
    bucket.put("d/e", b"x", Condition::Always).unwrap();
    bucket.put("d/f/g", b"y", Condition::Always).unwrap();
    assert_eq!(bucket.names("d/").unwrap(), ["e", "f"]);
    let keys: Vec<_> = bucket.list("d/").unwrap().into_iter().map(|o| o.key).collect();
    assert_eq!(keys, ["d/e", "d/f/g"]);
    let first = |prefix| bucket.first(prefix).unwrap().map(|meta| meta.key);
    assert_eq!(first("d").as_deref(), Some("d/e"));
    assert_eq!(first("d/f/").as_deref(), Some("d/f/g"));
    assert_eq!(first("e"), None);
    bucket.delete("d/e").unwrap();
    bucket.delete("d/e").unwrap();
    assert_eq!(bucket.head("d/e").unwrap(), None);
}

/// Runs the checks of every store, with and without kept copies.
fn stores() {
    let folder = tempfile::tempdir().unwrap();
    let root = |name| Path::new("s3://").join(BUCKET).join("stores").join(name);
    let (copies, work) = (folder.path().join("copies"), folder.path());
    let store = |root, kept| S3::open(root, &copies, kept).unwrap();
    let (bare, kept) = (root("bare"), root("kept"));
    conforms(&Subject { store: &store(&bare, &[]), root: bare.clone(), work });
    conforms(&Subject { store: &store(&kept, &["folder/", "from"]), root: kept.clone(), work });
    let root = root("faulty");
    let open = || store(&root, &[]);
    keeps_what_it_has(open, &root, work);
    // No copy is kept under an unwanted name, and a copy is used as long as it is current.
    let store = open();
    let (file, path) = (work.join("file"), root.join("x"));
    fs::write(&file, "x").unwrap();
    store.commit(&file, &path).unwrap();
    assert!(!copies.join("x").exists());
    let copy = store.local(&path).unwrap();
    let fetched = fs::metadata(&copy).unwrap().modified().unwrap();
    store.local(&path).unwrap();
    assert_eq!(fs::metadata(&copy).unwrap().modified().unwrap(), fetched);
}

fn large_objects(bucket: &Bucket, mebibytes: usize) {
    let folder = tempfile::tempdir().unwrap();
    let (there, back) = (folder.path().join("there"), folder.path().join("back"));
    // No two ranges are alike, and the last part is shorter than the others.
    let bytes: Vec<u8> = (0..(mebibytes << 20) + 12_345)
        .map(|place: usize| (place.wrapping_mul(2_654_435_761) >> 13) as u8)
        .collect();
    fs::write(&there, &bytes).unwrap();
    let started = Instant::now();
    let etag = bucket.put_file(&there, "large").unwrap();
    let up = started.elapsed();
    let started = Instant::now();
    let meta = bucket.head("large").unwrap().unwrap();
    bucket.download(&meta, &back).unwrap();
    println!("{mebibytes} MiB: {up:?} up, {:?} down", started.elapsed());
    assert_eq!((meta.bytes, meta.etag.as_str()), (bytes.len() as u64, etag.as_str()));
    assert!(fs::read(&back).unwrap() == bytes);
    let middle = 9_000_000..9_000_100;
    let read = bucket.read("large", middle.start as u64..middle.end as u64, &etag);
    assert_eq!(read.unwrap(), bytes[middle]);
    bucket.put("large", b"another", Condition::Always).unwrap();
    let error = bucket.read("large", 0..7, &etag).unwrap_err();
    assert_eq!(error.source.kind(), ErrorKind::StaleNetworkFileHandle);
    let error = bucket.download(&meta, &back).unwrap_err();
    assert_eq!(error.source.kind(), ErrorKind::StaleNetworkFileHandle);
    assert_eq!(bucket.head("none").unwrap(), None);
}

fn leases(bucket: &Arc<Bucket>) {
    let key = "run/_lock";
    let terms = Terms { renew: Duration::from_millis(300), stale: Duration::from_secs(3) };
    let take = |terms| Lease::take(bucket, key, "mark", terms).unwrap();
    let Locking::Held(lease) = take(terms) else {
        panic!("nobody else wants it");
    };
    // The lock is renewed for longer than it lasts without renewal.
    sleep(terms.stale + Duration::from_secs(1));
    lease.check().unwrap();
    assert!(matches!(take(terms), Locking::Busy(text) if text.contains("process")));
    drop(lease);
    // The lock of a silent holder on another host is waited for, then taken over.
    let silent = "mark\nprocess 1 on elsewhere\nrun x\nplace elsewhere\nbegun 1\n";
    let write = || bucket.put(key, silent.as_bytes(), Condition::Always);
    write().unwrap();
    assert!(matches!(take(terms), Locking::Busy(_)));
    sleep(terms.stale + Duration::from_secs(1));
    let Locking::Held(lease) = take(terms) else {
        panic!("it has run out");
    };
    // A holder that finds another's name in its lock writes no more.
    write().unwrap();
    sleep(terms.renew * 4);
    assert!(lease.check().unwrap_err().contains("elsewhere"));
    drop(lease);
    let (_, text) = bucket.get(key).unwrap().unwrap();
    assert_eq!(text, silent.as_bytes(), "it is not ours to free");
}
