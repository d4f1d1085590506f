//! Whom a finding is about: the own caller of a stack, and its callers.

use heapscribe_analyze::answer::NodeId;
use heapscribe_symbols::{NamedFrame, NamedStacks, short};

use crate::own::{OwnCallers, is_library};

/// Names of callers, at most.
const CALLERS: usize = 6;

/// The first frame of the program's own code on a stack.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Who {
    /// The function.
    pub name: String,
    /// `shop.c:12`, where lines are known.
    pub place: Option<String>,
    /// Its callers, the innermost first.
    pub callers: Vec<String>,
    /// The frame.
    pub frame: NamedFrame,
}

impl Who {
    /// Of a stack.
    pub(crate) fn of(stack: NodeId, own: &mut OwnCallers<'_>, names: &NamedStacks<'_>) -> Who {
        if stack == NodeId::ROOT {
            return Who { name: "an unknown caller".to_owned(), ..Who::default() };
        }
        let caller = own.of(stack);
        let frames = names.tree().frames(caller.node);
        let mut lines = frames.flat_map(|(_, frame)| names.lines_of(frame)).skip(caller.line);
        let frame = lines.next().unwrap_or_default();
        let name = name_of(&frame);
        let mut callers: Vec<String> = Vec::new();
        for caller in lines.filter(|line| !is_library(line)).map(|line| name_of(&line)) {
            if callers.last().unwrap_or(&name) != &caller && callers.len() < CALLERS {
                callers.push(caller);
            }
        }
        let place = frame.place().map(|place| place.rsplit('/').next().unwrap_or(&place).to_owned());
        Who { name, place, callers, frame }
    }

    /// `load at shop.c:12 < open < main`, in so many columns.
    pub fn line(&self, columns: usize) -> String {
        let mut line = self.name.clone();
        if let Some(place) = &self.place {
            line = format!("{line} at {place}");
        }
        for caller in &self.callers {
            let longer = format!("{line} < {caller}");
            if longer.chars().count() > columns {
                break;
            }
            line = longer;
        }
        line.chars().take(columns).collect()
    }
}

fn name_of(frame: &NamedFrame) -> String {
    frame.function.as_deref().map_or_else(|| frame.name(), short)
}
