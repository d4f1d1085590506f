//! Real-time rules in the plan of a recording: written for the programs, read by `check` and `ctl`.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use heapscribe_formats::RealTimeRules;
use heapscribe_wire::plan::{FILE_NAME, PLAN_BYTES, Plan};
use heapscribe_wire::real_time_rules::{RULES_BYTES_MAX, Rule, RuleKind, Rules};

/// The bytes that stand behind the plan. `None` when there are more rules than it has room for.
pub fn to_bytes(rules: &RealTimeRules) -> Option<Vec<u8>> {
    let of = |kind: RuleKind, names: &[Vec<u8>], out: &mut Vec<u8>| -> Option<()> {
        for name in names {
            let rule = Rule { kind, name };
            let at = out.len();
            out.resize(at + rule.bytes(), 0);
            rule.put(&mut out[at..])?;
        }
        Some(())
    };
    let mut out = Vec::new();
    of(RuleKind::Section, &rules.sections, &mut out)?;
    of(RuleKind::Mark, rules.after_mark.as_slice(), &mut out)?;
    of(RuleKind::Thread, &rules.threads, &mut out)?;
    (out.len() <= RULES_BYTES_MAX).then_some(out)
}

/// The rules of the recording whose base directory this is; none when it has no plan that can be read.
pub fn of_base(base: &Path) -> RealTimeRules {
    let (mut rules, mut plan) = (RealTimeRules::default(), [0; PLAN_BYTES]);
    let Some(file) = crate::files::open_file(&base.join(FILE_NAME), false) else { return rules };
    if file.read_exact_at(&mut plan, 0).is_err() {
        return rules;
    }
    let Some(plan) = Plan::parse(&plan) else { return rules };
    let bytes = behind(&file, (plan.rules_bytes as usize).min(RULES_BYTES_MAX));
    for rule in Rules::new(&bytes) {
        let name = rule.name.to_vec();
        match rule.kind {
            RuleKind::Section => rules.sections.push(name),
            RuleKind::Mark => rules.after_mark = Some(name),
            RuleKind::Thread => rules.threads.push(name),
        }
    }
    rules
}

fn behind(file: &File, bytes: usize) -> Vec<u8> {
    let mut rules = vec![0; bytes];
    let read = crate::files::read_up_to(file, &mut rules, PLAN_BYTES as u64);
    rules.truncate(read);
    rules
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let place = tempfile::tempdir().unwrap();
        let dir = place.path();
        let rules = RealTimeRules {
            sections: vec![b"loop".to_vec(), b"cycle".to_vec()],
            after_mark: Some(b"initialized".to_vec()),
            threads: vec![b"rt_*".to_vec()],
        };
        let bytes = to_bytes(&rules).unwrap();
        let plan = Plan { rules_bytes: bytes.len() as u32, ..Plan::default() };
        std::fs::write(dir.join(FILE_NAME), [&plan.to_bytes()[..], &bytes].concat()).unwrap();
        assert_eq!(of_base(dir), rules);
        std::fs::write(dir.join(FILE_NAME), b"short").unwrap();
        assert!(of_base(dir).is_empty());
        let many = RealTimeRules { sections: vec![vec![b'x'; 255]; 20], ..RealTimeRules::default() };
        assert_eq!(to_bytes(&many), None);
    }
}
