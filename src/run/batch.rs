//! One batch: calls are preflighted in order, run side by side or one after the other, and each gets exactly one result.

mod gate;

use std::{panic::AssertUnwindSafe, sync::Arc};

use ahash::{AHashMap, AHashSet};
use bytes::Bytes;
use futures::{FutureExt as _, future::join_all};
use tokio::{sync::watch, time::Instant};
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;

use gate::over_limit;

use super::{
    BatchOutcome, Current, Fed, Feed, Limit, Observer, Run, Verdict,
    calls::Calls,
    delivery::{CallWatch, Delivery},
    duplicates::{Duplicates, Kinship},
    in_flight::CallInFlight,
    lock,
    record::{self, Earlier},
    submission,
    verdict::Ending,
};
use crate::{
    call::{BatchPlace, Finish, Mode, ToolCall, is_blank_id},
    content::Warning,
    pipeline::{self, AdmittedCall},
    ports::{Claim, OnceKey},
    refusal::{Code, Refusal},
    result::{CallResult, Trace},
    tools::Tool,
    wording,
};

impl Run {
    /// Begins a batch, at once, so that it can be cancelled from now on; the future runs it to its end. Batches of a run come
    /// one after the other; the caller sees to that.
    pub fn batch(
        self: &Arc<Self>,
        mut feed: Feed,
        observer: Arc<dyn Observer>,
    ) -> impl Future<Output = Arc<BatchOutcome>> + Send + use<> {
        feed.hold(self.hold_bytes());
        let mut ongoing = Ongoing::begin(self, &feed, observer);
        async move {
            let warnings = ongoing.take_all(&mut feed).await;
            ongoing.end(warnings).await
        }
    }
}

/// A batch while it runs.
struct Ongoing {
    run: Arc<Run>,
    delivery: Delivery,
    cancel: CancellationToken,
    sequential: bool,
    cut_off: bool,
    /// The limit that lets nothing of this batch run.
    closed: Option<Limit>,
    bytes: usize,
    seen: Duplicates,
    /// Ids that calls have or will have, as far as they are known: none of these is assigned.
    ids: AHashSet<Arc<str>>,
    /// The last call of this batch that wants a key: the next one waits for it, so that the lowest index wins (rule S2).
    holders: AHashMap<OnceKey, u32>,
    calls: Calls,
    /// What was recorded when this batch was sent before.
    earlier: Option<Earlier>,
    /// Calls that were counted against the limits of the run.
    counted: AHashSet<u32>,
    outcome: watch::Sender<Option<Arc<BatchOutcome>>>,
}

impl Drop for Ongoing {
    /// Also if the booth fails on it: nobody may wait for it any more.
    fn drop(&mut self) {
        *lock(&self.run.current) = None;
    }
}

impl Ongoing {
    fn begin(run: &Arc<Run>, feed: &Feed, observer: Arc<dyn Observer>) -> Self {
        let cancel = run.cancel.child_token();
        if feed.cancelled {
            cancel.cancel();
        }
        let (outcome, told) = watch::channel(None);
        *lock(&run.current) = Some(Current {
            batch: Arc::clone(&feed.id),
            cancel: cancel.clone(),
            calls: AHashMap::new(),
            taken: Vec::new(),
            expected: feed.whole.as_ref().map(|whole| whole.tools.len()),
            outcome: told,
        });
        let earlier = run.begin_record(&feed.id);
        let is_sequential = |name: &Arc<str>| is_sequential(run, name);
        let place = BatchPlace { run: Arc::clone(run.id()), batch: Arc::clone(&feed.id) };
        Self {
            delivery: Delivery::new(place, observer),
            sequential: feed.mode.unwrap_or(run.options.mode) == Mode::Sequential
                || feed.whole.as_ref().is_some_and(|whole| whole.tools.iter().any(is_sequential)),
            cut_off: feed.whole.as_ref().is_some_and(|whole| whole.cut_off),
            // A batch that is sent again is no other turn.
            closed: if earlier.is_some() { run.ended_by() } else { run.begin_turn() },
            run: Arc::clone(run),
            cancel,
            bytes: 0,
            seen: Duplicates::default(),
            ids: feed.whole.as_ref().map(|whole| whole.ids.clone()).unwrap_or_default(),
            holders: AHashMap::new(),
            calls: Calls::default(),
            earlier,
            counted: AHashSet::new(),
            outcome,
        }
    }

    /// Takes call after call, to the end of the batch.
    async fn take_all(&mut self, feed: &mut Feed) -> Vec<Warning> {
        let mut warnings = Vec::new();
        // A cancelled batch is taken to its end too: whoever cancels ends the feed, and every call of it gets its result.
        loop {
            match self.calls.beside(feed.next()).await {
                Some(Fed::Call(call)) => self.take(call).await,
                Some(Fed::Unfinished(call)) => self.refuse(call, Code::Truncated, None),
                Some(Fed::Overloaded(call, reason)) => self.refuse(call, Code::Overloaded, Some(reason)),
                None => {
                    // The rest was lost with its stream: nobody knows whether it would have agreed to end the run.
                    self.cut_off = true;
                    break;
                }
                Some(Fed::End(finish)) => {
                    self.cut_off |= finish == Finish::CutOff;
                    if let Finish::Unknown(word) = finish {
                        let message = format!("the finish reason {word:?} is unknown; the response was taken as whole");
                        warnings.push(Warning { code: "unknown_finish_reason", message });
                    }
                    break;
                }
            }
        }
        if let Some(current) = &mut *lock(&self.run.current) {
            current.expected = Some(current.taken.len());
        }
        warnings
    }

    /// Takes the next call: to its preflight and on to its executor, or to its refusal; all of it in the span of the call.
    async fn take(&mut self, call: ToolCall) {
        let call = self.numbered(call);
        let span = self.delivery.span(&call);
        self.judge(call).instrument(span).await;
    }

    async fn judge(&mut self, call: Arc<ToolCall>) {
        let earlier = self.earlier(&call);
        let call = if let Some(earlier) = &earlier { self.with_id_of(call, earlier) } else { call };
        if let Some(result) = earlier.and_then(|earlier| record::answer(&earlier, Arc::clone(&call))) {
            // The next call under its id is still kin to it.
            self.kinship(&call);
            return self.calls.settle(self.delivery.deliver(result));
        }
        if let Some(refusal) = self.forbidden(&call) {
            return self.settle(CallResult::refused(call, Trace::default(), refusal));
        }
        match self.kinship(&call) {
            Kinship::New => {}
            Kinship::Same(first) => return self.replay(call, first),
            Kinship::Clash => {
                let text = wording::duplicate_call_id(&call.name, &call.id);
                let refusal = Refusal::new(Code::DuplicateCallId, None, text);
                return self.settle(CallResult::refused(call, Trace::default(), refusal));
            }
        }
        let scope = self.run.scope();
        let tool = scope.tool(&call.name);
        self.sequential |= tool.as_ref().is_some_and(|tool| tool.mode == Mode::Sequential);
        if self.sequential {
            self.calls.all_over().await;
        }
        let call = self.with_id(call);
        let token = self.run.call_token(call.index);
        let started = Instant::now();
        let within_limits = tool.map_or(Ok(None), |tool| self.run.take_of_tool(&tool, call.arguments.len()));
        let in_flight = match within_limits {
            Ok(in_flight) => in_flight,
            Err((code, reason)) => {
                let refusal = over_limit(&call.name, code, reason);
                return self.settle(CallResult::refused(call, Trace::default(), refusal));
            }
        };
        let preflight = pipeline::preflight(&scope, &self.delivery.place, Arc::clone(&call), &token);
        match self.calls.beside(AssertUnwindSafe(preflight).catch_unwind()).await {
            Ok(Ok(admitted)) => {
                self.run.counters().valid_call();
                self.start(admitted, token, started, in_flight);
            }
            Ok(Err(refused)) => self.settle(CallResult { duration: started.elapsed(), ..*refused }),
            // A fault of the booth concerns this call only: its batch goes on.
            Err(_) => self.settle(never_started(call)),
        }
    }

    /// What the call is to those before it. Several names may mean one tool.
    fn kinship(&mut self, call: &Arc<ToolCall>) -> Kinship {
        let scope = self.run.scope();
        self.seen.judge(call, |one, other| {
            one == other || scope.tool(one).zip(scope.tool(other)).is_some_and(|(one, other)| one.name == other.name)
        })
    }

    /// The index is the position, whatever the host said.
    fn numbered(&mut self, call: ToolCall) -> Arc<ToolCall> {
        self.ids.insert(Arc::clone(&call.id));
        let index = u32::try_from(self.calls.len()).unwrap_or(u32::MAX);
        let arguments = if self.run.keep().grace.is_zero() {
            call.arguments
        } else {
            // A copy: recorded as they came, they would keep the whole message that they came in.
            Bytes::copy_from_slice(&call.arguments)
        };
        let call = Arc::new(ToolCall { index, arguments, ..call });
        if let Some(current) = &mut *lock(&self.run.current) {
            current.taken.push(Arc::clone(&call));
        }
        call
    }

    /// What was recorded of the call at this place.
    fn earlier(&self, call: &ToolCall) -> Option<Arc<CallResult>> {
        let index = usize::try_from(call.index).ok()?;
        self.earlier.as_ref()?.results.get(index).cloned()
    }

    /// A call without an id gets one (rule B5).
    fn with_id(&mut self, call: Arc<ToolCall>) -> Arc<ToolCall> {
        if !is_blank_id(&call.id) {
            return call;
        }
        let mut id: Arc<str> = format!("{}-{}", self.delivery.place.batch, call.index).into();
        while !self.ids.insert(Arc::clone(&id)) {
            id = format!("{id}x").into();
        }
        Arc::new(ToolCall { id, ..(*call).clone() })
    }

    /// A call that is sent again keeps the id that it was given: its host has heard it.
    fn with_id_of(&mut self, call: Arc<ToolCall>, earlier: &CallResult) -> Arc<ToolCall> {
        let id = &earlier.call.id;
        if is_blank_id(&call.id) && self.ids.insert(Arc::clone(id)) {
            return Arc::new(ToolCall { id: Arc::clone(id), ..(*call).clone() });
        }
        self.with_id(call)
    }

    /// Starts an admitted call.
    fn start(
        &mut self,
        admitted: AdmittedCall,
        token: CancellationToken,
        started: Instant,
        in_flight: Option<CallInFlight>,
    ) {
        let call = Arc::clone(admitted.call());
        let claim = submission::claim(&self.run, &admitted);
        let keys = claim.iter().flat_map(|claim| &claim.keys);
        let holders: Vec<_> = keys.filter_map(|key| self.holders.insert(key.clone(), call.index)).collect();
        let holders: Vec<_> = holders.into_iter().map(|holder| self.calls.result(holder)).collect();
        let (run, delivery) = (Arc::clone(&self.run), self.delivery.clone());
        let running = async move {
            if !holders.is_empty() {
                // A cancelled call does not wait for its turn: it is answered at once.
                tokio::select! {
                    biased;
                    () = token.cancelled() => {}
                    _ = join_all(holders) => {}
                }
            }
            let watch = delivery.watch(admitted.call());
            let result = conclude(&run, claim, admitted, &watch, &token).await;
            // Given back before anybody hears of the result, and so can make the next call.
            drop(in_flight);
            delivery.deliver(CallResult { duration: started.elapsed(), ..result })
        };
        let delivery = self.delivery.clone();
        self.calls.start(running, move |panic| delivery.deliver(lost_result(call, panic)));
    }

    /// The same call again: the first one's result answers both.
    fn replay(&mut self, call: Arc<ToolCall>, first: u32) {
        let first = self.calls.result(first);
        let (delivery, again) = (self.delivery.clone(), Arc::clone(&call));
        let token = self.run.call_token(call.index);
        let replayed = async move {
            let original = tokio::select! {
                biased;
                original = first => original,
                () = token.cancelled() => None,
            };
            let result = if let Some(original) = original {
                CallResult { call, executed: false, attempts: 0, replayed: true, ..(*original).clone() }
            } else {
                let text = wording::cancelled(&call.name, false);
                CallResult::refused(call, Trace::default(), Refusal::new(Code::Cancelled, None, text))
            };
            delivery.deliver(result)
        };
        let delivery = self.delivery.clone();
        self.calls.start(replayed, move |panic| delivery.deliver(lost_result(again, panic)));
    }

    async fn end(mut self, mut warnings: Vec<Warning>) -> Arc<BatchOutcome> {
        self.calls.all_over().await;
        let results = std::mem::take(&mut self.calls).into_results();
        let accepted = submission::accepted(&self.run).await.unwrap_or_else(|error| {
            let message = format!("what the task has accepted so far cannot be read: {error}");
            warnings.push(Warning { code: "accepted_unknown", message });
            Vec::new()
        });
        let elapsed = self.run.opened.elapsed();
        let scope = self.run.scope();
        let (reached, remaining, only_kept) = {
            let (counters, limits) = (self.run.counters(), self.run.limits());
            let remaining = counters.remaining(limits, elapsed, &scope.catalog);
            (counters.reached(limits, elapsed), remaining, counters.has_only_kept(limits))
        };
        let cancelled = self.cancel.is_cancelled();
        let to_force = only(scope.catalog.submissions()).filter(|_| only_kept);
        let ending = Ending { cut_off: self.cut_off, cancelled, reached, remaining, accepted, to_force };
        let can_be_called = |tool: &Arc<Tool>| !only_kept || tool.accept.is_some();
        let served = |name: &str| scope.tool(name).filter(can_be_called).map(|tool| Arc::clone(&tool.name));
        let verdict = Verdict::of(&results, ending, served);
        self.delivery.conclude(results.len(), &verdict);
        let counted = std::mem::take(&mut self.counted);
        self.run.keep_record(&self.delivery.place.batch, self.earlier.as_ref(), &results, counted);
        let batch = Arc::clone(&self.delivery.place.batch);
        let outcome = Arc::new(BatchOutcome { batch, results, verdict, warnings });
        drop(self.outcome.send_replace(Some(Arc::clone(&outcome))));
        outcome
    }
}

fn is_sequential(run: &Run, name: &str) -> bool {
    run.scope().tool(name).is_some_and(|tool| tool.mode == Mode::Sequential)
}

/// The name of the tool, if there is exactly one.
fn only(tools: &[Arc<Tool>]) -> Option<Arc<str>> {
    if let [tool] = tools { Some(Arc::clone(&tool.name)) } else { None }
}

/// From an admitted call to its result: accepted once where the contract says so.
async fn conclude(
    run: &Run,
    claim: Option<Claim>,
    admitted: AdmittedCall,
    watch: &CallWatch,
    cancel: &CancellationToken,
) -> CallResult {
    match claim {
        // Boxed, because most calls are no submission and should not be as large as one.
        Some(claim) => Box::pin(submission::once(run, claim, admitted, watch, cancel)).await,
        None => run.complete(admitted, watch, cancel).await.0,
    }
}

/// The result of a call on whose preflight the booth failed.
fn never_started(call: Arc<ToolCall>) -> CallResult {
    let text = wording::execution_failed(&call.name, "the booth failed before it was started; nothing was executed");
    CallResult::refused(call, Trace::default(), Refusal::new(Code::ExecutionFailed, None, text))
}

/// The result of a call on which the booth failed while it ran: nobody knows how far it came.
fn lost_result(call: Arc<ToolCall>, panic: String) -> CallResult {
    let text = wording::outcome_unknown(&call.name, "the booth failed while it ran");
    let refusal = Refusal { developer: Some(panic), ..Refusal::new(Code::OutcomeUnknown, None, text) };
    CallResult { executed: true, attempts: 1, ..CallResult::refused(call, Trace::default(), refusal) }
}
