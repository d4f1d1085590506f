//! How damaged files of memtrace are read, the same on every command that reads them.

use clap::Args;
use heapscribe_convert::Salvage;
use heapscribe_formats::memtrace::ReadOptions;

/// What to do at damage.
#[derive(Clone, Copy, Default, Debug, Args)]
pub(crate) struct SalvageArgs {
    /// Skip damaged parts of a memtrace file; without it, reading stops there
    #[arg(long)]
    pub(crate) salvage: bool,
}

impl SalvageArgs {
    /// How to read.
    pub(crate) fn options(self, stacks: bool) -> ReadOptions {
        Salvage::from(self).options(stacks)
    }
}

/// The same of commands that show stacks.
#[derive(Clone, Copy, Default, Debug, Args)]
pub(crate) struct StackArgs {
    #[command(flatten)]
    salvage: SalvageArgs,

    /// Show the interpreter's own frames, too, in stacks of Python, JavaScript and PHP code
    #[arg(long)]
    native: bool,
}

impl StackArgs {
    /// How to read.
    pub(crate) fn options(self, stacks: bool) -> ReadOptions {
        self.salvage.options(stacks)
    }
}

impl From<StackArgs> for Salvage {
    fn from(StackArgs { salvage, native }: StackArgs) -> Salvage {
        Salvage { native, ..Salvage::from(salvage) }
    }
}

impl From<SalvageArgs> for Salvage {
    fn from(args: SalvageArgs) -> Salvage {
        Salvage { damage: args.salvage, native: false }
    }
}
