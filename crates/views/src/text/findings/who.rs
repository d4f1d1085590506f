//! Whom a finding is about: the own caller of a stack, and its callers.

use heapscribe_analyze::answer::NodeId;
use heapscribe_symbols::{NamedFrame, NamedStacks, short};

use crate::own::{OwnCallers, is_nameless};

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
        for caller in lines.filter(|line| !own.is_library(line)).map(|line| name_of(&line)) {
            if callers.last().unwrap_or(&name) != &caller && callers.len() < CALLERS {
                callers.push(caller);
            }
        }
        let place = frame.place().map(|place| place.rsplit('/').next().unwrap_or(&place).to_owned());
        Who { name, place, callers, frame }
    }

    /// The name, with the place of a closure or lambda, of whose name there are many.
    pub(super) fn in_sentence(&self) -> String {
        match self.place.as_ref().filter(|_| is_nameless(&self.name)) {
            Some(place) => format!("{} at {place}", self.name),
            None => self.name.clone(),
        }
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
        fitted(line, columns)
    }
}

/// A line in so many columns; of a place in a module the module is cut, and not the offset.
fn fitted(line: String, columns: usize) -> String {
    const DOTS: &str = "...";
    if line.chars().count() <= columns {
        return line;
    }
    let offset = line.rfind("+0x").map_or("", |at| &line[at..]);
    let kept = columns.saturating_sub(DOTS.len() + offset.len());
    let name: String = line.chars().take(kept).collect();
    (name + DOTS + offset).chars().take(columns).collect()
}

fn name_of(frame: &NamedFrame) -> String {
    frame.function.as_deref().map_or_else(|| frame.name(), short)
}

#[cfg(test)]
mod tests {
    use super::fitted;

    #[test]
    fn what_is_too_long_keeps_its_offset() {
        for (line, columns, expected) in [
            ("load at shop.c:12", 17, "load at shop.c:12"),
            ("load_everything at shop.c:12", 12, "load_ever..."),
            (
                "_sqlite3.cpython-311-x86_64-linux-gnu.so+0x1f8c0",
                40,
                "_sqlite3.cpython-311-x86_64-l...+0x1f8c0",
            ),
            ("_sqlite3.so+0x1f8c0", 4, "...+"),
        ] {
            assert_eq!(fitted(line.to_owned(), columns), expected);
        }
    }
}
