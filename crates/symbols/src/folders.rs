//! Folders that a user has builds and debug files in, laid out as they like: their files are known by build ids.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::elf;

/// Files by their build ids.
#[derive(Debug, Default)]
pub struct Folders {
    files: HashMap<Vec<u8>, (bool, PathBuf)>,
}

impl Folders {
    /// Reads folders with all that is in them. Of two files with one build id, one with debug information is taken.
    ///
    /// # Errors
    /// When one of the folders cannot be read; what cannot be read inside is left out.
    pub fn read(folders: &[PathBuf]) -> io::Result<Folders> {
        let mut found = Folders::default();
        for folder in folders {
            let mut rest = vec![fs::canonicalize(folder)?];
            fs::read_dir(folder)?;
            while let Some(folder) = rest.pop() {
                for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                    // A link to a folder is not followed: it may lead back.
                    if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                        rest.push(entry.path());
                    } else {
                        found.add(entry.path());
                    }
                }
            }
        }
        Ok(found)
    }

    fn add(&mut self, path: PathBuf) {
        let Ok(file) = elf::read(&path) else { return };
        if file.build_id.is_empty() {
            return;
        }
        let known = self.files.entry(file.build_id).or_insert_with(|| (file.has_dwarf, path.clone()));
        if file.has_dwarf && !known.0 {
            *known = (true, path);
        }
    }

    /// The file of a build id.
    pub fn file(&self, build_id: &[u8]) -> Option<&Path> {
        self.files.get(build_id).map(|(_, path)| path.as_path())
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;
    use crate::Module;

    #[test]
    fn the_file_with_debug_information_is_taken() {
        let dir = tempfile::tempdir().unwrap();
        let source = dir.path().join("a.c");
        fs::write(&source, "int main(void) { return 0; }\n").unwrap();
        fs::create_dir_all(dir.path().join("deep/er")).unwrap();
        let (whole, bare) = (dir.path().join("deep/er/whole"), dir.path().join("bare"));
        let run = |program: &str, args: &[&std::ffi::OsStr]| {
            assert!(Command::new(program).args(args).status().unwrap().success());
        };
        run(
            "cc",
            &["-g".as_ref(), "-Wl,--build-id".as_ref(), "-o".as_ref(), whole.as_ref(), source.as_ref()],
        );
        run("objcopy", &["--strip-debug".as_ref(), whole.as_ref(), bare.as_ref()]);
        let id = Module::of_file(&whole).unwrap().build_id;
        let folders = Folders::read(&[dir.path().to_path_buf()]).unwrap();
        assert_eq!(folders.file(&id), Some(fs::canonicalize(&whole).unwrap().as_path()));
        fs::remove_file(whole).unwrap();
        let folders = Folders::read(&[dir.path().to_path_buf()]).unwrap();
        assert_eq!(folders.file(&id), Some(fs::canonicalize(bare).unwrap().as_path()));
        assert_eq!(folders.file(b"other"), None);
        assert!(Folders::read(&[dir.path().join("none")]).is_err());
    }
}
