//! The thread that writes: takes messages, and between them looks at the clock.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use super::image::Image;
use super::message::Message;
use super::names;
use super::plan::{FilesPlan, Written};
use heapscribe_diagnostics as diagnostics;
use heapscribe_symbols::{CachedResolver, Resolver};

/// Open packets are written out as often as this.
const FLUSH_EVERY: Duration = Duration::from_secs(1);

pub(super) struct Worker {
    plan: FilesPlan,
    resolver: CachedResolver,
    watched: Option<u32>,
    images: BTreeMap<u32, Image>,
    /// Files of this recording.
    used: HashSet<PathBuf>,
    /// Where in `written` or `images` the file lies that has the name that was asked for.
    main: Option<u32>,
    written: BTreeMap<u32, Written>,
}

impl Worker {
    pub(super) fn new(plan: FilesPlan) -> Worker {
        let resolver = CachedResolver::new(Resolver::new(plan.debug_dir.clone()));
        Worker {
            plan,
            resolver,
            watched: None,
            images: BTreeMap::new(),
            used: HashSet::new(),
            main: None,
            written: BTreeMap::new(),
        }
    }

    /// Works until the other end hangs up; the file that was asked for comes first.
    pub(super) fn run(mut self, from: &Receiver<Message>) -> Vec<Written> {
        let mut flushed = Instant::now();
        loop {
            match from.recv_timeout(FLUSH_EVERY.saturating_sub(flushed.elapsed())) {
                Ok(message) => self.take(message),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if flushed.elapsed() >= FLUSH_EVERY {
                self.images.values_mut().for_each(Image::flush);
                flushed = Instant::now();
            }
        }
        for number in self.images.keys().copied().collect::<Vec<_>>() {
            self.end(number);
        }
        let main = self.main.and_then(|main| self.written.remove(&main));
        main.into_iter().chain(self.written.into_values()).collect()
    }

    fn take(&mut self, message: Message) {
        match message {
            Message::Watch(pid) => self.watched = Some(pid),
            Message::Process(process, info) => {
                self.images.insert(process.0, Image::new(info));
            }
            Message::Definitions(process, position, bytes) => {
                if let Some(image) = self.images.get_mut(&process.0) {
                    image.definitions(position, &bytes);
                }
            }
            Message::Events(process, piece) => {
                self.open(process.0, piece.info.thread);
                if let Some(image) = self.images.get_mut(&process.0) {
                    image.events(&piece, &mut self.resolver);
                }
            }
            Message::Ended(process) => self.end(process.0),
        }
    }

    /// Makes sure that a process has a file, of which the first events are this thread's.
    fn open(&mut self, number: u32, thread: u32) {
        let Some(image) = self.images.get(&number).filter(|image| !image.is_open()) else { return };
        let pid = image.info.pid;
        let path = if Some(pid) == self.watched {
            self.free_name();
            self.main = Some(number);
            self.plan.output.clone()
        } else {
            names::other(&self.plan.output, pid, &self.used)
        };
        self.used.insert(path.clone());
        if let Some(image) = self.images.get_mut(&number) {
            image.open(path, &self.plan, thread);
        }
    }

    /// The program that was started became another: the file of the one before gets another name.
    fn free_name(&mut self) {
        let Some(before) = self.main else { return };
        let image = self.images.get_mut(&before).and_then(Image::written_mut);
        let Some(written) = image.or_else(|| self.written.get_mut(&before)) else { return };
        let path = names::other(&self.plan.output, written.pid, &self.used);
        match fs::rename(&written.path, &path) {
            Ok(()) => {
                self.used.insert(path.clone());
                written.path = path;
            }
            Err(e) => diagnostics::error(&format!("cannot rename {}: {e}", written.path.display())),
        }
    }

    /// Ends the file of a process; the program that was started has one in any case.
    fn end(&mut self, number: u32) {
        if self.images.get(&number).is_some_and(|image| Some(image.info.pid) == self.watched)
            && self.main.is_none()
        {
            self.open(number, 1);
        }
        let ended = self.images.remove(&number).and_then(Image::end);
        self.written.extend(ended.map(|written| (number, written)));
    }
}
