//! The files of tables in a directory. Each takes its name when it is whole.

use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

use super::arrow::ArrowWriter;
use super::batch::{Batch, TableFacts, TableWriter};
use super::csv::CsvWriter;
use super::parquet::ParquetWriter;

/// The version of the columns; a file has it as `heapscribe.schema`.
pub const SCHEMA_VERSION: &str = "1";

/// Rows of a row group: as many as engines read at once.
pub const ROWS_AT_ONCE: usize = 1 << 16;

/// A format of tables.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TableFormat {
    /// Apache Parquet.
    Parquet,
    /// Apache Arrow's file format.
    Arrow,
    /// Text.
    Csv,
}

impl TableFormat {
    /// What stands behind the names of its files.
    pub const fn extension(self) -> &'static str {
        match self {
            TableFormat::Parquet => "parquet",
            TableFormat::Arrow => "arrow",
            TableFormat::Csv => "csv",
        }
    }
}

/// A table on its way to a file.
pub struct TableFile {
    writer: Box<dyn TableWriter>,
    unfinished: PathBuf,
    path: PathBuf,
}

impl TableFile {
    /// Begins one in a directory, by the name of the table.
    ///
    /// # Errors
    /// When it cannot be created.
    pub fn create(directory: &Path, format: TableFormat, facts: TableFacts) -> io::Result<TableFile> {
        fs::create_dir_all(directory)?;
        let name = format!("{}.{}", facts.name, format.extension());
        let unfinished = directory.join(format!(".{name}.{}.tmp", std::process::id()));
        let out = BufWriter::with_capacity(1 << 16, File::create(&unfinished)?);
        let writer: Box<dyn TableWriter> = match format {
            TableFormat::Parquet => Box::new(ParquetWriter::new(out, facts)?),
            TableFormat::Arrow => Box::new(ArrowWriter::new(out, facts)?),
            TableFormat::Csv => Box::new(CsvWriter::new(out)),
        };
        Ok(TableFile { writer, unfinished, path: directory.join(name) })
    }

    /// The same, once all of it is on the disk: nobody can make it anew.
    ///
    /// # Errors
    /// Those of the output.
    pub fn close_on_disk(mut self) -> io::Result<()> {
        self.writer.finish()?;
        File::open(&self.unfinished)?.sync_all()?;
        fs::rename(&self.unfinished, &self.path)
    }

    /// Ends it, and gives it its name.
    ///
    /// # Errors
    /// Those of the output.
    pub fn close(mut self) -> io::Result<()> {
        self.writer.finish()?;
        fs::rename(&self.unfinished, &self.path)
    }
}

impl TableWriter for TableFile {
    fn write(&mut self, batch: &Batch) -> io::Result<()> {
        self.writer.write(batch)
    }

    fn finish(&mut self) -> io::Result<()> {
        self.writer.finish()
    }
}

impl Drop for TableFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.unfinished); // it has its name by now, or is of no use
    }
}
