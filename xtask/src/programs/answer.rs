//! What a run leaves to be compared: how it ended, what it wrote to its streams and into its directory.

use std::collections::BTreeMap;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::text::{self, Outcome};

/// How a program ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum End {
    /// With 128 and its number for a signal, as shells and `record` say it.
    Code(i32),
    /// It was killed when its time was over.
    TimedOut,
}

/// What a run left.
pub(super) struct Answer {
    pub(super) end: End,
    pub(super) took: Duration,
    pub(super) stdout: Vec<u8>,
    pub(super) stderr: Vec<u8>,
    /// By path from the directory in which it ran, what stands there.
    pub(super) files: BTreeMap<PathBuf, u64>,
}

/// What is not as without us, and how it was compared where not all could be.
#[derive(Default, PartialEq, Eq, Debug)]
pub(super) struct Comparison {
    pub(super) differences: Vec<String>,
    pub(super) forms: Vec<String>,
}

impl Answer {
    /// Holds it against what the bare program left each time.
    pub(super) fn compare(&self, bares: &[Answer]) -> Comparison {
        let mut comparison = Comparison::default();
        self.compare_end(bares, &mut comparison);
        self.compare_stream("stdout", |answer| &answer.stdout, bares, &mut comparison);
        self.compare_stream("stderr", |answer| &answer.stderr, bares, &mut comparison);
        self.compare_files(bares, &mut comparison);
        comparison
    }

    fn compare_end(&self, bares: &[Answer], comparison: &mut Comparison) {
        if self.end == End::TimedOut {
            comparison.differences.push(format!("did not end within {} s", self.took.as_secs()));
        } else if bares.iter().any(|bare| bare.end != bares[0].end) {
            comparison.forms.push("exit code not compared".to_owned());
        } else if let (End::Code(bare), End::Code(code)) = (bares[0].end, self.end)
            && bare != code
        {
            comparison.differences.push(format!("ended with {code} instead of {bare}"));
        }
    }

    fn compare_stream(
        &self,
        name: &str,
        of: impl Fn(&Answer) -> &[u8],
        bares: &[Answer],
        comparison: &mut Comparison,
    ) {
        let texts: Vec<_> = bares.iter().map(&of).collect();
        let Outcome { form, difference } = text::compare(&texts, of(self));
        comparison.differences.extend(difference.map(|difference| format!("{name}: {difference}")));
        comparison.forms.extend(Some(format!("{name} {form}")).filter(|_| !form.is_empty()));
    }

    fn compare_files(&self, bares: &[Answer], comparison: &mut Comparison) {
        let first = &bares[0].files;
        let is_steady = |path: &Path| bares.iter().all(|bare| bare.files.get(path) == first.get(path));
        let in_all = |path: &Path| bares.iter().all(|bare| bare.files.contains_key(path));
        let has_steady_names = bares.iter().all(|bare| bare.files.keys().eq(first.keys()));
        for (path, content) in first.iter().filter(|(path, _)| in_all(path)) {
            match self.files.get(path) {
                None => comparison.differences.push(format!("file {} is missing", path.display())),
                Some(found) if found != content && is_steady(path) => {
                    comparison.differences.push(format!("file {} is another", path.display()));
                }
                Some(_) => {}
            }
        }
        for path in self.files.keys().filter(|path| has_steady_names && !first.contains_key(*path)) {
            comparison.differences.push(format!("file {} is left over", path.display()));
        }
        let varying = first.keys().filter(|path| !is_steady(path)).count();
        if varying > 0 || !has_steady_names {
            comparison.forms.push(format!("{varying} files not compared"));
        }
    }
}

/// The files below a directory, each with a number for its kind, rights and content.
pub(super) fn files(directory: &Path) -> io::Result<BTreeMap<PathBuf, u64>> {
    let mut found = BTreeMap::new();
    let mut open = vec![directory.to_owned()];
    while let Some(inner) = open.pop() {
        for entry in fs::read_dir(&inner)? {
            let path = entry?.path();
            let status = fs::symlink_metadata(&path)?;
            if status.is_dir() {
                open.push(path.clone());
            }
            let name = path.strip_prefix(directory).unwrap_or(&path).to_owned();
            found.insert(name, content(&path, &status)?);
        }
    }
    Ok(found)
}

fn content(path: &Path, status: &fs::Metadata) -> io::Result<u64> {
    let mut hasher = DefaultHasher::new();
    status.mode().hash(&mut hasher);
    if status.is_symlink() {
        fs::read_link(path)?.hash(&mut hasher);
    } else if status.is_file() {
        fs::read(path)?.hash(&mut hasher);
    } else {
        status.file_type().is_socket().hash(&mut hasher);
    }
    Ok(hasher.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(code: i32, stdout: &str, files: &[(&str, u64)]) -> Answer {
        Answer {
            end: End::Code(code),
            took: Duration::ZERO,
            stdout: stdout.into(),
            stderr: Vec::new(),
            files: files.iter().map(|(path, content)| (path.into(), *content)).collect(),
        }
    }

    fn check(bares: &[Answer], answer: &Answer, differences: &[&str], forms: &[&str]) {
        let comparison = answer.compare(bares);
        assert_eq!((comparison.differences, comparison.forms), (owned(differences), owned(forms)));
    }

    fn owned(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn what_is_steady_is_compared() {
        let bares = || [answer(3, "a", &[("f", 1), ("g", 2)]), answer(3, "a", &[("f", 1), ("g", 2)])];
        check(&bares(), &answer(3, "a", &[("f", 1), ("g", 2)]), &[], &[]);
        check(&bares(), &answer(139, "a", &[("f", 1), ("g", 2)]), &["ended with 139 instead of 3"], &[]);
        let differences = [
            "stdout: line 1 is `b` instead of `a`",
            "file f is another",
            "file g is missing",
            "file h is left over",
        ];
        check(&bares(), &answer(3, "b", &[("f", 2), ("h", 2)]), &differences, &[]);
        let late = Answer { end: End::TimedOut, took: Duration::from_secs(7), ..answer(0, "a", &[]) };
        check(&[answer(0, "a", &[]), answer(0, "a", &[])], &late, &["did not end within 7 s"], &[]);
    }

    #[test]
    fn what_varies_by_itself_is_not() {
        let bares = [answer(0, "", &[("f", 1), ("x1", 1)]), answer(1, "", &[("f", 2), ("x2", 1)])];
        check(
            &bares,
            &answer(5, "", &[("f", 3), ("x3", 1)]),
            &[],
            &["exit code not compared", "2 files not compared"],
        );
    }
}
