//! The operators of projection.

use std::cell::RefCell;
use std::rc::Rc;

use timely::container::CapacityContainerBuilder;
use timely::dataflow::Stream;
use timely::dataflow::channels::pact::Pipeline;
use timely::dataflow::operators::generic::builder_rc::OperatorBuilder;
use timely::dataflow::operators::generic::{OutputBuilder, OutputBuilderSession};
use timely::dataflow::operators::{Capability, Operator};

use super::ProjectPlan;
use super::counters::Counters;
use super::inference::PartInference;
use super::parts::{InferredDocuments, PartWriter};
use crate::dataflow::block::Block;
use crate::dataflow::exchange::{BlockBuilder, route};
use crate::dataflow::outbox::Outbox;
use crate::failure::Failure;

/// A stream of the dataflow.
type Flow<'scope, C> = Stream<'scope, u64, C>;

/// The state of a worker's operators: the error that ends the run, and the operator's capability. While it is kept, no
/// worker considers sums complete.
#[derive(Default)]
pub(super) struct ProjectionState(Option<(Failure, Capability<u64>)>);

impl ProjectionState {
    fn fail(&mut self, error: Failure, time: &Capability<u64>) {
        self.0 = Some((error, time.clone()));
    }

    /// Takes the error that ends the run, if there is one: drop the dataflow before the next step.
    pub(super) fn failure(&mut self) -> Option<Failure> {
        self.0.take().map(|(error, _)| error)
    }
}

/// Outputs the number of the process's next part whenever this worker has none.
pub(super) fn parts<'scope>(
    written: Flow<'scope, Block>,
    plan: &Rc<ProjectPlan>,
) -> Flow<'scope, Vec<usize>> {
    let plan = Rc::clone(plan);
    let next = move || plan.shares.own.get(plan.parts.take()).copied();
    written.unary::<CapacityContainerBuilder<Vec<usize>>, _, _, _>(route(), "parts", |time, _| {
        let mut first = Some(time);
        move |input, output| {
            if let Some(time) = first.take()
                && let Some(number) = next()
            {
                output.session(&time).give(number);
            }
            input.for_each(|time, _| {
                if let Some(number) = next() {
                    output.session(&time).give(number);
                }
            });
        }
    })
}

/// Infers some documents of the current part at a time; outputs them and, in between and at the end, sums over them.
pub(super) fn infer<'scope>(
    parts: Flow<'scope, Vec<usize>>,
    mut inference: PartInference,
    state: &Rc<RefCell<ProjectionState>>,
) -> (Flow<'scope, Vec<InferredDocuments>>, Flow<'scope, Block>) {
    let (scope, state) = (parts.scope(), Rc::clone(state));
    let mut outbox = Outbox::new([scope.index(), scope.peers()]);
    let mut builder = OperatorBuilder::new("infer".to_owned(), scope);
    let activator = scope.activator_for(builder.operator_info().address);
    let mut input = builder.new_input(parts, Pipeline);
    let (documents, inferred) = builder.new_output();
    let (sums, added_up) = builder.new_output();
    let mut documents = OutputBuilder::<_, CapacityContainerBuilder<_>>::from(documents);
    let mut sums = OutputBuilder::<_, BlockBuilder>::from(sums);
    builder.build(move |mut capabilities| {
        // The capability of the sums, which are complete when there are no more parts.
        let mut end = capabilities.pop();
        let mut current = None;
        move |frontiers| {
            input.for_each(|time, numbers| {
                current = numbers.pop().map(|number| (time.retain(0), number));
            });
            let Some(until) = &end else { return };
            let mut sums = sums.activate();
            if let Some((time, number)) = &current {
                match inference.infer_some(*number, &mut outbox) {
                    Ok(some) => {
                        activator.activate();
                        let is_last = some.tally.is_some();
                        documents.activate().session(time).give(some);
                        current = current.take().filter(|_| !is_last);
                    }
                    Err(error) => state.borrow_mut().fail(error, time),
                }
                give(&mut sums, until, outbox.full());
            } else if frontiers[0].is_empty() {
                inference.send(&mut outbox);
                give(&mut sums, until, outbox.all());
                end = None;
            }
        }
    });
    (inferred, added_up)
}

/// Writes parts, and requests the next one after each.
pub(super) fn write<'scope>(
    inferred: Flow<'scope, Vec<InferredDocuments>>,
    mut writer: PartWriter,
    state: &Rc<RefCell<ProjectionState>>,
) -> Flow<'scope, Block> {
    let (index, state) = (inferred.scope().index(), Rc::clone(state));
    inferred.unary::<BlockBuilder, _, _, _>(Pipeline, "write", |_, _| {
        move |input, output| {
            input.for_each(|time, batches| {
                let time = time.retain(0);
                let written = batches.drain(..).try_for_each(|some| {
                    if writer.write(some)? {
                        give(output, &time, [Block::to_worker(index, index, 0, Vec::new())]);
                    }
                    Ok(())
                });
                let failed = |error| state.borrow_mut().fail(error, &time);
                written.unwrap_or_else(failed);
            });
        }
    })
}

/// Sums what the workers have sent and, once that is complete, outputs the results of `send`.
pub(super) fn reduce<'scope>(
    sums: Flow<'scope, Block>,
    counters: &Rc<RefCell<Counters>>,
    state: &Rc<RefCell<ProjectionState>>,
    send: fn(&mut Counters, &mut Outbox) -> Result<(), Failure>,
) -> Flow<'scope, Block> {
    let (counters, state) = (Rc::clone(counters), Rc::clone(state));
    let mut outbox = Outbox::new([sums.scope().index(), sums.scope().peers()]);
    sums.unary_frontier::<BlockBuilder, _, _, _>(route(), "reduce", |end, _| {
        let mut end = Some(end);
        move |(input, frontier), output| {
            let mut counters = counters.borrow_mut();
            input.for_each(|_, block| counters.receive(std::mem::take(block)));
            let Some(until) = end.as_ref().filter(|_| frontier.is_empty()) else {
                return;
            };
            match send(&mut counters, &mut outbox) {
                Ok(()) => {
                    give(output, until, outbox.all());
                    end = None;
                }
                Err(error) => state.borrow_mut().fail(error, until),
            }
        }
    })
}

fn give(
    output: &mut OutputBuilderSession<'_, u64, BlockBuilder>,
    time: &Capability<u64>,
    blocks: impl IntoIterator<Item = Block>,
) {
    let mut session = output.session(time);
    for mut block in blocks {
        session.give_container(&mut block);
    }
}
