//! Where and when: what a figure is worth nothing without.

use std::fs;
use std::process::Command;

use serde_json::{Value, json};

use crate::places;

/// Ticks a second in which the kernel counts CPU time in `/proc`, on x86_64.
const TICKS_PER_SECOND: f64 = 100.0;

/// What else the machine did while we measured.
#[derive(Clone, Debug)]
pub(crate) struct Watch {
    started: std::time::Instant,
    busy_ticks: f64,
    stolen_ticks: f64,
    own_ticks: f64,
    load: String,
}

impl Watch {
    /// From now on.
    pub(crate) fn start() -> Watch {
        let (busy_ticks, stolen_ticks) = machine_ticks(&read("/proc/stat"));
        Watch {
            started: std::time::Instant::now(),
            busy_ticks,
            stolen_ticks,
            own_ticks: own_ticks(&read("/proc/self/stat")),
            load: read("/proc/loadavg").split(' ').next().unwrap_or_default().to_owned(),
        }
    }

    /// Cores that others kept busy since the start, and cores that the host took away, on average.
    fn others(&self) -> (f64, f64) {
        let (busy, stolen) = machine_ticks(&read("/proc/stat"));
        let own = own_ticks(&read("/proc/self/stat"));
        let ticks = self.started.elapsed().as_secs_f64().max(0.01) * TICKS_PER_SECOND;
        let others = (busy - self.busy_ticks) - (own - self.own_ticks);
        (others.max(0.0) / ticks, (stolen - self.stolen_ticks) / ticks)
    }
}

/// Busy and stolen ticks of all cores since the start of the machine.
fn machine_ticks(stat: &str) -> (f64, f64) {
    let line = stat.lines().next().unwrap_or_default();
    let ticks: Vec<f64> = line.split_whitespace().skip(1).filter_map(|word| word.parse().ok()).collect();
    // user nice system idle iowait irq softirq steal; guest is in user already.
    let busy = [0, 1, 2, 5, 6].iter().filter_map(|&i| ticks.get(i)).sum();
    (busy, ticks.get(7).copied().unwrap_or(0.0))
}

/// Ticks of this process and the children that it has waited for.
fn own_ticks(stat: &str) -> f64 {
    // The name, in parentheses, may have blanks in it.
    let rest = stat.rsplit(')').next().unwrap_or_default();
    rest.split_whitespace().skip(11).take(4).filter_map(|word| word.parse::<f64>().ok()).sum()
}

fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

/// The first line that a command prints; empty when it cannot be run.
fn output_of(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).current_dir(places::root()).output();
    let text = output.map(|o| String::from_utf8_lossy(&o.stdout).into_owned()).unwrap_or_default();
    text.lines().next().unwrap_or_default().trim().to_owned()
}

fn field(text: &str, name: &str, separator: char) -> String {
    let line = text.lines().find(|line| line.starts_with(name)).unwrap_or_default();
    line.split_once(separator).map_or("", |(_, value)| value).trim().trim_matches('"').to_owned()
}

/// Versions on which counts of instructions depend.
pub(crate) fn compilers() -> Value {
    json!({
        "rustc": output_of("rustc", &["--version"]),
        "gcc": output_of("gcc", &["--version"]),
        "valgrind": output_of("valgrind", &["--version"]),
        "libc": output_of("getconf", &["GNU_LIBC_VERSION"]),
    })
}

/// What is printed with every figure.
pub(crate) fn facts(watch: &Watch) -> Value {
    let is_changed = !output_of("git", &["status", "--porcelain", "--untracked-files=no"]).is_empty();
    let commit = output_of("git", &["rev-parse", "--short=12", "HEAD"]);
    let memory_kib: u64 =
        field(&read("/proc/meminfo"), "MemTotal", ':').trim_end_matches(" kB").parse().unwrap_or(0);
    let (others, stolen) = watch.others();
    let round = |value: f64| (value * 100.0).round() / 100.0;
    json!({
        "date": output_of("date", &["-u", "+%Y-%m-%d %H:%M UTC"]),
        "commit": if is_changed { format!("{commit} with changes") } else { commit },
        "cpu": field(&read("/proc/cpuinfo"), "model name", ':'),
        "cores": std::thread::available_parallelism().map_or(0, usize::from),
        "memory_gib": (memory_kib as f64 / f64::from(1 << 20)).round(),
        "kernel": read("/proc/sys/kernel/osrelease").trim(),
        "system": field(&read("/etc/os-release"), "PRETTY_NAME", '='),
        "compilers": compilers(),
        "is_optimized": !cfg!(debug_assertions),
        "load_before": watch.load,
        "cores_busy_for_others": round(others),
        "cores_stolen_by_host": round(stolen),
        "took_s": watch.started.elapsed().as_secs(),
    })
}

/// The facts as sentences.
pub(crate) fn sentence(facts: &Value) -> String {
    let text = |key: &str| facts[key].as_str().unwrap_or("?").to_owned();
    let versions =
        ["rustc", "gcc", "libc"].map(|key| facts["compilers"][key].as_str().unwrap_or("?").to_owned());
    let build = if facts["is_optimized"] == true { "" } else { " A DEBUG BUILD: its times say nothing." };
    format!(
        "{}, commit {}. {} cores of {}, {} GiB, {}, Linux {}; {}. Load before: {}; while we measured others kept {} \
         cores busy and the host took {} away, on average over {} s.{build}",
        text("date"),
        text("commit"),
        facts["cores"],
        text("cpu"),
        facts["memory_gib"],
        text("system"),
        text("kernel"),
        versions.join(", "),
        text("load_before"),
        facts["cores_busy_for_others"],
        facts["cores_stolen_by_host"],
        facts["took_s"],
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_read_from_proc() {
        assert_eq!(machine_ticks("cpu  10 1 20 9999 7 2 3 5 4 0\ncpu0 1\n"), (36.0, 5.0));
        let stat = "7 (a) name) S 1 7 7 0 -1 4194560 100 0 0 0 11 12 13 14 20 0 1 0";
        assert_eq!(own_ticks(stat), 50.0);
    }

    #[test]
    fn fields_have_their_values() {
        assert_eq!(field("NAME=x\nPRETTY_NAME=\"Debian 12\"\n", "PRETTY_NAME", '='), "Debian 12");
        assert_eq!(field("", "x", ':'), "");
    }
}
