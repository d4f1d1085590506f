//! The kernel's error numbers.

/// The kernel's error number, positive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Errno(pub i32);

impl Errno {
    /// No such process or thread.
    pub const ESRCH: Errno = Errno(3);
    /// Not permitted.
    pub const EPERM: Errno = Errno(1);
    /// No such file.
    pub const ENOENT: Errno = Errno(2);
    /// Interrupted by a signal.
    pub const EINTR: Errno = Errno(4);
    /// Try again: for `futex`, the word has another value.
    pub const EAGAIN: Errno = Errno(11);
    /// The time is over.
    pub const ETIMEDOUT: Errno = Errno(110);
    /// No permission, for a file or the way to it.
    pub const EACCES: Errno = Errno(13);
    /// A part of the way to a file is no directory.
    pub const ENOTDIR: Errno = Errno(20);
    /// The system has no descriptor left.
    pub const ENFILE: Errno = Errno(23);
    /// The process has no descriptor left.
    pub const EMFILE: Errno = Errno(24);
    /// The file system is full.
    pub const ENOSPC: Errno = Errno(28);
    /// The user's quota is used up.
    pub const EDQUOT: Errno = Errno(122);
    /// The file system is mounted to be read only.
    pub const EROFS: Errno = Errno(30);
    /// File exists.
    pub const EEXIST: Errno = Errno(17);
    /// Bad address: for `madvise`, the pages could not be had (a full tmpfs).
    pub const EFAULT: Errno = Errno(14);
    /// The other end of a pipe is closed.
    pub const EPIPE: Errno = Errno(32);
    /// The file would be larger than this process may write.
    pub const EFBIG: Errno = Errno(27);
    /// Not supported: for `fallocate`, by this file system.
    pub const EOPNOTSUPP: Errno = Errno(95);
    /// Invalid argument: for `madvise`, an advice this kernel does not know.
    pub const EINVAL: Errno = Errno(22);
    /// Out of memory.
    pub const ENOMEM: Errno = Errno(12);
}

/// What a system call gives.
pub type Result<T> = core::result::Result<T, Errno>;
