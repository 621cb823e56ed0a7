//! Replaces the client in a program built without the feature `s3`: its types cannot be
//! constructed.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use super::{Condition, ObjectMeta, StoreError, StoreErrorKind};

/// A bucket that cannot be opened.
#[derive(Debug)]
pub enum Bucket {}

impl Bucket {
    /// Refuses.
    ///
    /// # Errors
    /// Always.
    pub fn open(name: &str) -> Result<Arc<Self>, StoreError> {
        Err(StoreError {
            url: format!("{}{name}", super::SCHEME),
            kind: StoreErrorKind::Setting,
            message: "this build has no S3 support: build with `--features s3`".to_owned(),
        })
    }

    /// As the client's.
    ///
    /// # Errors
    /// None: there is no such value.
    pub fn head(&self, _: &str) -> Result<Option<ObjectMeta>, StoreError> {
        match *self {}
    }

    /// As the client's.
    ///
    /// # Errors
    /// None: there is no such value.
    pub fn get(&self, _: &str) -> Result<Option<(ObjectMeta, Vec<u8>)>, StoreError> {
        match *self {}
    }

    /// As the client's.
    ///
    /// # Errors
    /// None: there is no such value.
    pub fn read(&self, _: &str, _: Range<u64>, _: &str) -> Result<Vec<u8>, StoreError> {
        match *self {}
    }

    /// As the client's.
    ///
    /// # Errors
    /// None: there is no such value.
    pub fn download(&self, _: &str, _: &Path) -> Result<Option<ObjectMeta>, StoreError> {
        match *self {}
    }

    /// As the client's.
    ///
    /// # Errors
    /// None: there is no such value.
    pub fn list(&self, _: &str) -> Result<Vec<ObjectMeta>, StoreError> {
        match *self {}
    }

    /// As the client's.
    ///
    /// # Errors
    /// None: there is no such value.
    pub fn names(&self, _: &str) -> Result<Vec<String>, StoreError> {
        match *self {}
    }

    /// As the client's.
    ///
    /// # Errors
    /// None: there is no such value.
    pub fn put(&self, _: &str, _: &[u8]) -> Result<String, StoreError> {
        match *self {}
    }

    /// As the client's.
    ///
    /// # Errors
    /// None: there is no such value.
    pub fn put_if(
        &self,
        _: &str,
        _: &[u8],
        _: Condition<'_>,
    ) -> Result<Option<String>, StoreError> {
        match *self {}
    }

    /// As the client's.
    ///
    /// # Errors
    /// None: there is no such value.
    pub fn put_file(&self, _: &Path, _: &str) -> Result<String, StoreError> {
        match *self {}
    }

    /// As the client's.
    ///
    /// # Errors
    /// None: there is no such value.
    pub fn copy(&self, _: &str, _: &str) -> Result<(), StoreError> {
        match *self {}
    }

    /// As the client's.
    ///
    /// # Errors
    /// None: there is no such value.
    pub fn delete(&self, _: &str) -> Result<(), StoreError> {
        match *self {}
    }
}
