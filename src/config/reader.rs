//! Reads variables one by one, remembering what was wrong and what came into effect.

use secrecy::ExposeSecret;
use store::Problem;

use super::problems::Problems;
use super::render::Setting;
use super::source::{Origin, Source};
use super::values::{self, show_number};
use super::variables::{Values, Variable};

/// Reads variables. What it answers is `None` exactly when it has added a problem.
pub(super) struct Reader {
    pub(super) source: Source,
    pub(super) problems: Problems,
    pub(super) settings: Vec<Setting>,
}

impl Reader {
    /// Whether a variable is set.
    pub(super) fn is_given(&self, variable: &Variable) -> bool {
        self.source.contains_key(variable.name)
    }

    /// A number.
    pub(super) fn number(&mut self, variable: &Variable) -> Option<u64> {
        self.checked_number(variable, Ok)
    }

    /// A number that must also pass `check`.
    pub(super) fn checked_number(
        &mut self,
        variable: &Variable,
        check: impl Fn(u64) -> Result<u64, Problem>,
    ) -> Option<u64> {
        let show = |number: &u64| match variable.values {
            // Bytes stay bytes, as they are counted; only durations need a unit.
            Values::Number { unit, .. } if unit == values::Unit::Millisecond => {
                show_number(*number, unit)
            }
            _ => number.to_string(),
        };
        let parse = |text: &str| values::number(text, variable.values).and_then(&check);
        self.read(variable, |text| parse(text).map_err(|one| vec![one]), show)
    }

    /// A switch.
    pub(super) fn switch(&mut self, variable: &Variable) -> Option<bool> {
        self.read(
            variable,
            |text| values::switch(text).map_err(|one| vec![one]),
            |on| u8::from(*on).to_string(),
        )
    }

    /// One of a few words.
    pub(super) fn one_of<T: Copy + PartialEq>(
        &mut self,
        variable: &Variable,
        words: &[(&'static str, T)],
    ) -> Option<T> {
        self.read(
            variable,
            |text| values::one_of(text, words).map_err(|one| vec![one]),
            |meant| {
                let word = words.iter().find(|(_, value)| value == meant);
                word.map(|(word, _)| (*word).to_owned()).unwrap_or_default()
            },
        )
    }

    /// Whatever `parse` makes of the variable's text, or of its default.
    pub(super) fn read<T>(
        &mut self,
        variable: &Variable,
        parse: impl Fn(&str) -> Result<T, Vec<Problem>>,
        show: impl Fn(&T) -> String,
    ) -> Option<T> {
        let (parsed, origin) = match self.source.get(variable.name) {
            Some(given) => (parse(given.value.expose_secret()), given.origin),
            None => (parse(variable.default), Origin::Default),
        };
        match parsed {
            Ok(value) => {
                self.settings.push(Setting {
                    name: variable.name.to_owned(),
                    value: show(&value),
                    origin,
                });
                Some(value)
            }
            Err(found) => {
                for problem in found {
                    self.problems.push(variable.name, problem);
                }
                None
            }
        }
    }
}
