//! Reads the table of stacks, of windows and of conversions, and what engines made of them: columns are known by their
//! names, wherever they stand.

use super::parquet::{Entries, Malformed, ParquetFile, RowGroup};

/// A line of a stack as a table has it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct StoredLine<'a> {
    /// The build id of the frame's file in hexadecimal digits.
    pub build_id: Option<&'a str>,
    /// The file's path.
    pub module: Option<&'a str>,
    /// The address in it.
    pub offset: u64,
    /// The function, or why the stack was cut.
    pub function: Option<&'a str>,
    /// The source file.
    pub file: Option<&'a str>,
    /// The line in it.
    pub line: Option<u32>,
    /// How many bytes before the address the call is.
    pub call_bytes: u8,
    /// Whether its code lies inside the function of the next line.
    pub inlined: bool,
}

/// A table of stacks.
pub struct StoredStacks<'a> {
    file: ParquetFile<'a>,
    stack: usize,
    fields: [usize; FIELDS.len()],
}

/// The fields of `frames`, by these names.
const FIELDS: [&str; 8] =
    ["build_id", "module", "offset", "function", "file", "line", "call_bytes", "inlined"];

impl<'a> StoredStacks<'a> {
    /// Opens one.
    ///
    /// # Errors
    /// When it is no table of stacks.
    pub fn open(bytes: &'a [u8]) -> Result<StoredStacks<'a>, String> {
        let file = ParquetFile::open(bytes).map_err(|e| e.to_string())?;
        let column = |outer: &str, name: &str| {
            let mut columns = file.columns.iter();
            let is_it = |path: &[String]| {
                path.first().is_some_and(|first| first == outer)
                    && path.last().is_some_and(|last| last == name)
            };
            let found = columns.position(|column| is_it(&column.path));
            found.ok_or_else(|| match name {
                "call_bytes" | "inlined" => {
                    format!("it has no column {outer}.{name}: its heapscribe was older")
                }
                _ => format!("it is no table of stacks: it has no column {outer}, {name}"),
            })
        };
        let stack = column("stack", "stack")?;
        let mut fields = [0; FIELDS.len()];
        for (field, name) in fields.iter_mut().zip(FIELDS) {
            *field = column("frames", name)?;
        }
        Ok(StoredStacks { file, stack, fields })
    }

    /// A text that is said of the table as a whole.
    pub fn fact(&self, name: &str) -> Option<&str> {
        self.file.fact(name)
    }

    /// Calls `each` with every stack: its number and its lines.
    ///
    /// # Errors
    /// When it is damaged; what comes before that was read.
    pub fn for_each(&self, mut each: impl FnMut(i64, &[StoredLine<'_>])) -> Result<(), String> {
        self.file.groups.iter().try_for_each(|group| self.group(group, &mut each).map_err(|e| e.to_string()))
    }

    fn group(
        &self,
        group: &RowGroup,
        each: &mut impl FnMut(i64, &[StoredLine<'_>]),
    ) -> Result<(), Malformed> {
        let numbers = self.file.read(group, self.stack)?;
        let fields: Vec<Entries> =
            self.fields.iter().map(|field| self.file.read(group, *field)).collect::<Result<_, _>>()?;
        let wrong = |what: &str| group.wrong(what);
        let is_alike = |of: &Entries, n: usize| {
            (of.begins_row(n), of.is_there(n)) == (fields[0].begins_row(n), fields[0].is_there(n))
        };
        let entries = fields[0].len();
        if fields.iter().any(|of| of.len() != entries || !(0..entries).all(|n| is_alike(of, n))) {
            return Err(wrong("the fields of frames have different lengths"));
        }
        let (mut lines, mut at) = (Vec::new(), 0);
        for row in 0..numbers.len() {
            let number = numbers.number(row).ok_or_else(|| wrong("a stack has no number"))?;
            lines.clear();
            let begin = at;
            while at < entries && (at == begin || !fields[0].begins_row(at)) {
                if fields[0].is_there(at) {
                    lines.push(line(&fields, at));
                }
                at += 1;
            }
            if at == begin {
                return Err(wrong("there are more stacks than frames of stacks"));
            }
            each(number, &lines);
        }
        Ok(())
    }
}

fn line(fields: &[Entries], at: usize) -> StoredLine<'_> {
    let [build_id, module, offset, function, file, line, call_bytes, inlined] = fields else {
        return StoredLine::default();
    };
    StoredLine {
        build_id: build_id.text(at),
        module: module.text(at),
        offset: offset.number(at).unwrap_or(0).cast_unsigned(),
        function: function.text(at),
        file: file.text(at),
        line: line.number(at).and_then(|line| u32::try_from(line).ok()),
        call_bytes: call_bytes.number(at).and_then(|bytes| u8::try_from(bytes).ok()).unwrap_or(1),
        inlined: inlined.number(at).is_some_and(|inlined| inlined != 0),
    }
}

#[cfg(test)]
mod tests {
    use heapscribe_symbols::NamedFrame;
    use proptest::prelude::*;

    use super::super::batch::{TableFacts, TableWriter as _};
    use super::super::parquet::ParquetWriter;
    use super::super::stacks::{Line, batch};
    use super::*;

    fn written(stacks: &[(i64, Vec<Line>)], rows: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        let facts =
            TableFacts { name: "stacks", facts: vec![("of", "all".to_owned())], ..TableFacts::default() };
        let mut writer = ParquetWriter::new(&mut bytes, facts).unwrap();
        for stacks in stacks.chunks(rows) {
            let lines: Vec<_> =
                stacks.iter().map(|(number, lines)| (*number, lines.iter().collect())).collect();
            writer.write(&batch(&lines)).unwrap();
        }
        writer.finish().unwrap();
        bytes
    }

    fn owned(line: &StoredLine<'_>) -> Line {
        let text = |text: Option<&str>| text.map(str::to_owned);
        let frame = NamedFrame {
            function: text(line.function),
            file: text(line.file),
            line: line.line,
            module: text(line.module),
            offset: line.offset,
            inlined: line.inlined,
            ..NamedFrame::default()
        };
        Line { build_id: text(line.build_id), frame, call_bytes: line.call_bytes }
    }

    fn stacks(bytes: &[u8]) -> Result<Vec<(i64, Vec<Line>)>, String> {
        let mut all = Vec::new();
        let table = StoredStacks::open(bytes)?;
        table.for_each(|number, lines| all.push((number, lines.iter().map(owned).collect())))?;
        Ok(all)
    }

    fn lines() -> impl Strategy<Value = Line> {
        let text = || prop::option::of("[a-z]{0,3}");
        let place = (any::<u64>(), prop::option::of(0..i32::MAX as u32), 0u8..2, any::<bool>());
        (text(), text(), text(), text(), place).prop_map(|(id, module, function, file, place)| {
            let (offset, line, call_bytes, inlined) = place;
            let frame = NamedFrame { function, file, line, module, offset, inlined, ..NamedFrame::default() };
            Line { build_id: id, frame, call_bytes }
        })
    }

    proptest! {
        #[test]
        fn stacks_come_back(
            all in prop::collection::vec((any::<i64>(), prop::collection::vec(lines(), 0..5)), 1..40),
            rows in 1usize..20,
        ) {
            let bytes = written(&all, rows);
            let table = StoredStacks::open(&bytes).unwrap();
            prop_assert_eq!(table.fact("of"), Some("all"));
            prop_assert_eq!(stacks(&bytes).unwrap(), all);
        }

        #[test]
        fn damage_is_no_panic(at in 0usize..2000, byte in any::<u8>(), cut in 0usize..2000) {
            let line = Line { build_id: Some("ab".to_owned()), ..Line::default() };
            let mut bytes = written(&(0..50).map(|n| (n, vec![line.clone(); 3])).collect::<Vec<_>>(), 20);
            let at = at % bytes.len();
            bytes[at] = byte;
            let _ = stacks(&bytes);
            bytes.truncate(cut);
            prop_assert!(stacks(&bytes).is_err() || cut >= bytes.len());
        }
    }

    #[test]
    fn what_is_no_table_of_stacks_says_so() {
        assert_eq!(stacks(b"PK").unwrap_err(), "it does not begin as a Parquet file does, at byte 0");
        let mut bytes = written(&[(1, vec![Line::default()])], 1);
        bytes.pop();
        assert_eq!(stacks(&bytes).unwrap_err(), format!("the file is cut, at byte {}", bytes.len()));
    }

    /// As pyarrow 26 wrote it, see `make.py` there.
    #[test]
    fn tables_of_others_are_read() {
        let line = |id: &str, names: Option<(&str, u32)>, offset: i64| {
            let frame = NamedFrame {
                function: names.map(|(function, _)| function.to_owned()),
                file: names.map(|_| "app.c".to_owned()),
                line: names.map(|(_, line)| line),
                module: names.map(|_| "/usr/bin/app".to_owned()),
                offset: offset.cast_unsigned(),
                inlined: names.is_some_and(|(function, _)| function == "inner"),
                ..NamedFrame::default()
            };
            Line { build_id: Some(id.to_owned()), frame, call_bytes: names.is_some().into() }
        };
        let inner = || line("ab01", Some(("inner", 3)), 4096);
        let outer = || line("ab01", Some(("outer", 9)), 4096);
        let bare = || line("cd", None, -1);
        let expected = [
            (-7, vec![inner(), outer(), bare()]),
            (0, vec![]),
            (5, vec![bare()]),
            (6, vec![outer(), inner(), outer()]),
        ];
        for name in ["1-zstd", "2-gzip", "2-none"] {
            let file = format!("{}/tests/fixtures/tables/pyarrow-{name}.parquet", env!("CARGO_MANIFEST_DIR"));
            assert_eq!(stacks(&std::fs::read(file).unwrap()).unwrap(), expected, "{name}");
        }
    }
}
