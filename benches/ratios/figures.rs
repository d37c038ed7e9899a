//! Figures: medians of rounds, ratios of what was measured in turns, and the one table at the end.

use std::{fmt, time::Duration};

/// So many times everything is measured, in turns.
pub(crate) const ROUNDS: u32 = 9;

/// What each round gave.
#[derive(Debug, Clone, Default)]
pub(crate) struct Rounds(pub(crate) Vec<f64>);

impl Rounds {
    /// The middle one.
    pub(crate) fn median(&self) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
    }

    /// This divided by the other, round by round: what slows the machine for a while slows both.
    pub(crate) fn over(&self, other: &Self) -> Self {
        self.with(other, |own, other| own / other)
    }

    /// What is more than in the other, round by round.
    pub(crate) fn minus(&self, other: &Self) -> Self {
        self.with(other, |own, other| own - other)
    }

    fn with(&self, other: &Self, how: fn(f64, f64) -> f64) -> Self {
        Self(self.0.iter().zip(&other.0).map(|(own, other)| how(*own, *other)).collect())
    }
}

/// All rounds, so that a reader can check.
impl fmt::Display for Rounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.2} of", self.median())?;
        self.0.iter().try_for_each(|round| write!(f, " {round:.2}"))
    }
}

/// The middle of some times, in microseconds.
pub(crate) fn p50(times: Vec<Duration>) -> f64 {
    Rounds(times.into_iter().map(microseconds).collect()).median()
}

pub(crate) fn microseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

pub(crate) fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// What a figure should be.
#[derive(Clone, Copy)]
pub(crate) enum Goal {
    AtMost(f64),
    AtLeast(f64),
}

/// A line of the table.
pub(crate) struct Row {
    /// The goal's number in the design, or nothing where the figure is only for reading.
    pub(crate) number: &'static str,
    pub(crate) what: String,
    pub(crate) booth: String,
    pub(crate) baseline: String,
    /// What the goal is about: a ratio (`x`), a time or a size.
    pub(crate) figure: f64,
    pub(crate) unit: &'static str,
    pub(crate) goal: Option<Goal>,
}

impl Row {
    /// A figure that has no baseline.
    pub(crate) fn absolute(
        number: &'static str,
        what: String,
        figure: f64,
        unit: &'static str,
        goal: Option<Goal>,
    ) -> Self {
        Self { number, what, booth: format!("{figure:.1} {unit}"), baseline: String::new(), figure, unit, goal }
    }

    fn cells(&self) -> [String; 7] {
        let Self { figure, unit, .. } = self;
        let (goal, is_met) = match self.goal {
            Some(Goal::AtMost(most)) => (format!("<= {most} {unit}"), Some(*figure <= most)),
            Some(Goal::AtLeast(least)) => (format!(">= {least} {unit}"), Some(*figure >= least)),
            None => (String::new(), None),
        };
        let verdict = is_met.map(|is_met| if is_met { "met" } else { "NOT MET" }).unwrap_or_default();
        let [what, booth, baseline] = [&self.what, &self.booth, &self.baseline].map(String::clone);
        [self.number.to_owned(), what, booth, baseline, format!("{figure:.2} {unit}"), goal, verdict.to_owned()]
    }
}

/// The table, in Markdown.
pub(crate) fn table(rows: &[Row]) -> String {
    let head = ["goal", "what", "booth", "baseline", "figure", "should be", ""].map(str::to_owned);
    let mut lines = vec![head];
    lines.extend(rows.iter().map(Row::cells));
    let mut widths = [0; 7];
    for line in &lines {
        for (width, cell) in widths.iter_mut().zip(line) {
            *width = cell.chars().count().max(*width);
        }
    }
    lines.insert(1, widths.map(|width| "-".repeat(width)));
    let line = |cells: &[String; 7]| {
        let cells: Vec<String> = cells.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        format!("| {} |\n", cells.join(" | "))
    };
    lines.iter().map(line).collect()
}
