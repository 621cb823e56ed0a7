//! Messages of words, each from one worker to another: collected into blocks, and delivered whole.

use std::collections::BTreeMap;

use super::block::Block;

/// Words that are collected for a worker before they are sent.
const BATCH_WORDS: usize = 8 * 1024;

/// The messages that a worker sends with [`route`](super::exchange::route).
pub(crate) struct Outbox {
    index: usize,
    peers: usize,
    /// By tag and target.
    waiting: BTreeMap<(u64, usize), Vec<u64>>,
    ready: Vec<Block>,
}

impl Outbox {
    /// Creates the outbox of worker `index` of `peers`.
    pub(crate) fn new([index, peers]: [usize; 2]) -> Self {
        Self { index, peers, waiting: BTreeMap::new(), ready: Vec::new() }
    }

    /// Returns the worker of a key: key mod workers.
    pub(crate) fn target(&self, key: u64) -> usize {
        (key % self.peers as u64) as usize
    }

    /// Sends a message to a worker; together with [`BATCH_WORDS`] it must fit in a block.
    pub(crate) fn send(&mut self, tag: u64, target: usize, message: impl IntoIterator<Item = u64>) {
        let words = self.waiting.entry((tag, target)).or_default();
        words.extend(message);
        if words.len() >= BATCH_WORDS {
            let words = std::mem::take(words);
            self.send_block(tag, target, words);
        }
    }

    /// Sends a separate block to a worker.
    pub(crate) fn send_block(&mut self, tag: u64, target: usize, words: Vec<u64>) {
        (self.ready).push(Block::to_worker(self.index, target, tag, words));
    }

    /// Sends a separate block to every worker.
    pub(crate) fn send_all(&mut self, tag: u64, words: Vec<u64>) {
        (self.ready).push(Block::to_everyone(self.index, self.peers, tag, words));
    }

    /// Takes the blocks that are full.
    pub(crate) fn full(&mut self) -> Vec<Block> {
        std::mem::take(&mut self.ready)
    }

    /// Takes all blocks, full or not.
    pub(crate) fn all(&mut self) -> Vec<Block> {
        for ((tag, target), words) in std::mem::take(&mut self.waiting) {
            self.send_block(tag, target, words);
        }
        self.full()
    }
}
