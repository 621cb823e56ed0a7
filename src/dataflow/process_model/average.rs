//! The average of a process's model over passes.

use std::sync::atomic::Ordering;

use super::{ProcessModel, add_up_totals};
use crate::dataflow::process::Process;
use crate::dataflow::rounds::Merged;
use lda::model::parameters::GlobalStep;
use lda::train::AVERAGE_PRUNE;

impl ProcessModel {
    /// Blends a round's estimates, in tokens, into the average, by the weight of the step. All workers of
    /// the process must call this.
    pub(crate) fn average_step(
        &self,
        process: &Process,
        part: usize,
        step: GlobalStep,
        merged: &Merged,
    ) {
        self.is_averaged.store(true, Ordering::Relaxed);
        self.take_step(&self.averages, process, part, step, merged, AVERAGE_PRUNE);
    }

    /// Adds the counts of one part to their average, with a weight; 1 starts the average. All workers of
    /// the process must call this.
    pub(crate) fn average(&self, process: &Process, part: usize, weight: f64) {
        let counts = self.parts[part].read();
        let mut average = self.averages[part].write();
        if weight < 1.0 {
            average.blend(weight, &counts);
        } else {
            *average = counts.clone();
        }
        let is_small = average.is_scale_small();
        if is_small {
            average.fold_scale(AVERAGE_PRUNE);
        }
        drop((counts, average));
        self.is_averaged.store(true, Ordering::Relaxed);
        process.meet();
        if is_small {
            add_up_totals(&self.averages, process, part);
        }
    }

    /// Replaces the counts by their average, if there is one. All workers of the process must call this.
    pub(crate) fn settle(&self, process: &Process, part: usize) {
        // Others may still be reading the counts.
        process.meet();
        if self.is_averaged.load(Ordering::Relaxed) {
            std::mem::swap(&mut *self.parts[part].write(), &mut *self.averages[part].write());
            self.averages[part].write().clear();
        }
        process.meet();
        self.is_averaged.store(false, Ordering::Relaxed);
        process.meet();
    }
}
