//! Where interpreters have their objects, in words: whether these are in the recording, and what to do where they are not.

use heapscribe_analyze::answer::Answer;
use heapscribe_wire::language::Language;
use heapscribe_wire::object_allocator::ObjectAllocator;

/// What is said of a language whose interpreter may have its objects in the heap or not.
struct Sentences {
    language: Language,
    /// All processes have them in the heap.
    in_heap: &'static str,
    /// None has.
    own: &'static str,
    /// Some have.
    both: &'static str,
}

const ALL: [Sentences; 2] = [
    Sentences {
        language: Language::PYTHON,
        in_heap: "Each Python object is a block of the heap, as PYTHONMALLOC asked for: more calls, and more memory than \
                  without.",
        own: "Python's objects of up to 512 bytes are in arenas of its own, and not recorded: `record --python-allocators` \
              records each.",
        both: "Python's objects of up to 512 bytes are recorded of those processes alone that PYTHONMALLOC asked to have \
               them in the heap.",
    },
    Sentences {
        language: Language::PHP,
        in_heap: "Each block of PHP's scripts is a block of the heap, as USE_ZEND_ALLOC=0 asked for: more calls, and \
                  memory is used differently than without.",
        own: "What PHP's scripts allocate is in a heap of PHP's own, and not recorded: `record --php-allocators` (or \
              USE_ZEND_ALLOC=0) records each block.",
        both: "What PHP's scripts allocate is recorded of those processes alone that USE_ZEND_ALLOC=0 asked to have it in \
               the heap.",
    },
];

/// Whether a process has the objects of this language in blocks of the heap, each of them.
pub(crate) fn are_in_heap(answer: &Answer, language: Language) -> bool {
    of(answer, language).any(|objects| objects == ObjectAllocator::MALLOC)
}

/// A sentence for each language of which it is known where its objects are: whether they are in the recording.
pub(crate) fn sentences(answer: &Answer) -> impl Iterator<Item = &'static str> {
    ALL.iter().filter_map(|sentences| {
        let is_own = of(answer, sentences.language).any(|objects| objects == ObjectAllocator::OWN);
        match (are_in_heap(answer, sentences.language), is_own) {
            (false, false) => None,
            (true, false) => Some(sentences.in_heap),
            (false, true) => Some(sentences.own),
            (true, true) => Some(sentences.both),
        }
    })
}

fn of(answer: &Answer, language: Language) -> impl Iterator<Item = ObjectAllocator> {
    let interpreters = answer.interpreters.iter().filter(move |of| of.language == language);
    interpreters.map(|of| of.objects)
}

#[cfg(test)]
mod tests {
    use heapscribe_wire::definitions::Interpreter;
    use heapscribe_wire::frames_read::FramesRead;

    use super::*;

    const MALLOC: ObjectAllocator = ObjectAllocator::MALLOC;
    const OWN: ObjectAllocator = ObjectAllocator::OWN;

    fn check(all: &[(Language, ObjectAllocator)], expected: &[&str]) {
        let of = |&(language, objects): &(Language, ObjectAllocator)| {
            let (version, frames) = (0, FramesRead::YES);
            Interpreter { language, version, frames, objects }
        };
        let answer = Answer { interpreters: all.iter().map(of).collect(), ..Answer::default() };
        let found: Vec<&str> = sentences(&answer).collect();
        let are_expected = found.iter().zip(expected).all(|(text, words)| text.contains(words));
        assert!(found.len() == expected.len() && are_expected, "{found:?}");
    }

    #[test]
    fn what_is_said_of_one_language() {
        for (language, in_heap, own) in [
            (Language::PYTHON, "Each Python object", "`record --python-allocators`"),
            (Language::PHP, "Each block of PHP's scripts", "`record --php-allocators`"),
        ] {
            check(&[(language, ObjectAllocator::UNKNOWN)], &[]);
            check(&[(language, MALLOC), (language, ObjectAllocator::UNKNOWN)], &[in_heap]);
            check(&[(language, OWN)], &[own]);
            check(&[(language, OWN), (language, MALLOC)], &["of those processes alone"]);
        }
    }

    #[test]
    fn each_language_has_its_own_sentence() {
        check(&[], &[]);
        check(&[(Language::RUBY, OWN)], &[]);
        check(
            &[(Language::PHP, MALLOC), (Language::PYTHON, OWN)],
            &["arenas of its own", "USE_ZEND_ALLOC=0"],
        );
    }
}
