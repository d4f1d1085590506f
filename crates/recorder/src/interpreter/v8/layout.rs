//! Where V8 keeps what is read of it: by the constants that it exports for debuggers, and where these are silent, by
//! versions that were looked at: 10.2 to 14.1, of node 18 to 25.

use super::positions::Encoding;

/// The value of a constant that V8 has for debuggers, by its name without `v8dbg_`.
pub(super) trait Constants {
    fn get(&self, name: &[u8]) -> Option<usize>;
}

/// From the frame pointer on, downwards.
pub(super) const CONTEXT: usize = 8;
pub(super) const FUNCTION: usize = 16;
/// How many arguments there are, with the receiver: no small integer of V8's, but a plain one.
pub(super) const ARGUMENTS: usize = 24;
pub(super) const ARGUMENTS_MAX: usize = 1 << 16;
pub(super) const BYTECODE_ARRAY: usize = 32;
pub(super) const BYTECODE_OFFSET: usize = 40;

/// In a map: the word whose upper half begins with the type of its objects.
pub(super) const MAP_TYPE: usize = 12;
/// In a string: its length, in the upper half of a word; its characters.
pub(super) const STRING_LENGTH: usize = 12;
pub(super) const STRING_CHARACTERS: usize = 16;
/// In a string that refers to others or to memory outside.
pub(super) const FIRST_PART: usize = 16;
pub(super) const SECOND_PART: usize = 24;
/// In an array of bytes: how many, and the bytes.
pub(super) const ARRAY_LENGTH: usize = 8;
pub(super) const ARRAY_BYTES: usize = 16;
/// In what a function shares with its closures: its bytecodes, or the code that the baseline compiler made of them.
pub(super) const SHARED_CODE: usize = 8;
/// In what leads to bytecodes.
pub(super) const INDIRECT_BYTECODES: usize = 8;
/// In a script.
pub(super) const SCRIPT_SOURCE: usize = 8;
pub(super) const SCRIPT_NAME: usize = 16;
pub(super) const SCRIPT_FIRST_LINE: usize = 24;
/// Its number, which no other script of the process ever has.
pub(super) const SCRIPT_ID: usize = 64;
/// In what a function shares with its closures, behind its script: the word whose upper half is the number of the function in
/// that.
pub(super) const LITERAL_BEHIND_SCRIPT: usize = 16;
/// In a script that was evaluated: what the function that did so shares with its closures. The position follows.
pub(super) const SCRIPT_EVALUATED_BY: usize = 72;

/// Constants that are the same in all builds whose frames are read.
const EXPECTED: [(&[u8], usize); 20] = [
    (b"off_fp_context", 0usize.wrapping_sub(CONTEXT)),
    (b"off_fp_function", 0usize.wrapping_sub(FUNCTION)),
    (b"off_fp_bytecode_array", 0usize.wrapping_sub(BYTECODE_ARRAY)),
    (b"off_fp_bytecode_offset", 0usize.wrapping_sub(BYTECODE_OFFSET)),
    // Pointers are not compressed, and a small integer is the upper half of a word.
    (b"SmiValueShift", 1),
    (b"SmiShiftSize", 31),
    (b"HeapObjectTag", 1),
    (b"class_Map__instance_type__uint16_t", MAP_TYPE),
    (b"class_String__length__int32_t", STRING_LENGTH),
    (b"class_SeqOneByteString__chars__char", STRING_CHARACTERS),
    (b"class_ConsString__first__String", FIRST_PART),
    (b"class_ConsString__second__String", SECOND_PART),
    (b"class_SlicedString__parent__String", FIRST_PART),
    (b"class_FixedArrayBase__length__SMI", ARRAY_LENGTH),
    (b"class_FixedArray__data__uintptr_t", ARRAY_BYTES),
    (b"class_Script__source__Object", SCRIPT_SOURCE),
    (b"class_Script__name__Object", SCRIPT_NAME),
    // The number is between these two.
    (b"class_Script__line_ends__Object", SCRIPT_ID - 8),
    (b"class_Script__eval_from_position__SMI", SCRIPT_EVALUATED_BY + 8),
    (b"ConsStringTag", 1),
];

/// A V8.
#[derive(Clone, Copy, Debug)]
pub(crate) struct V8 {
    /// Where it keeps what.
    pub(super) layout: Layout,
    /// How it writes source positions.
    pub(super) encoding: Encoding,
    /// Where the module with V8 begins and ends.
    pub(super) module: [usize; 2],
}

impl V8 {
    /// Whether code is of V8's own module, and not of what it compiles.
    pub(super) fn contains(&self, pc: usize) -> bool {
        (self.module[0]..self.module[1]).contains(&pc)
    }
}

/// Where one version keeps what the constants do not tell of all.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Layout {
    /// In a function: what it shares with its other closures.
    pub(super) shared: usize,
    /// In that: its name or scope, and its script.
    pub(super) name: usize,
    pub(super) script: usize,
    /// In an array of bytecodes: the source positions; bytes before the first bytecode, less the tag.
    pub(super) positions: usize,
    pub(super) header_bytes: usize,
    /// Bytes of the header before the first instruction of code, and in a code object the first of the words that say what it
    /// was made of.
    pub(super) code_header: usize,
    pub(super) code_parts: usize,
    /// In a function: what leads to its code.
    pub(super) function_code: usize,
    /// In what optimized code was made of: its literals, and where functions were inlined.
    pub(super) literals: usize,
    pub(super) inlining_positions: usize,
    /// In a scope: the first local variable. Since V8 13 the positions are before it.
    pub(super) locals: usize,
    pub(super) has_positions_first: bool,
    /// How calls of optimized code are led to the bytecodes that these stand for.
    pub(super) optimized: Optimized,
    /// Types of objects.
    pub(super) types: Types,
}

/// What is read of optimized code besides its source positions.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Optimized {
    /// In a code object: the word whose lowest bits are the kind, and the bytes of its instructions; 0: where is not known.
    pub flags: usize,
    pub instruction_bytes: usize,
    /// The kind of code that Maglev makes.
    pub maglev: usize,
    /// In what optimized code was made of: the first deoptimization.
    pub deoptimizations: usize,
}

/// Numbers of types.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Types {
    pub bytecodes: usize,
    /// What leads to bytecodes of which functions have an interpreter of their own (`--interpreted-frames-native-stack`).
    pub indirect: usize,
    pub code: usize,
    /// Of the instructions of code; 0: they are part of it.
    pub instructions: usize,
    pub shared: usize,
    pub script: usize,
    pub scope: usize,
    /// The first that is no string.
    pub not_string: usize,
}

impl Types {
    /// Numbers by which versions are told apart.
    pub(super) const fn version(&self) -> [usize; 2] {
        [self.bytecodes, self.code]
    }
}

/// Bytes of code before its instructions, where these are part of it.
const INSTRUCTIONS_IN_CODE: usize = 128;

/// Words before the variables of a scope, of versions up to 12 and since.
const LOCALS_AT: usize = 3;
const LOCALS_BEHIND_POSITIONS: usize = 5;

impl Layout {
    pub(super) const NONE: Layout = Layout {
        shared: 0,
        name: 0,
        script: 0,
        positions: 0,
        header_bytes: 0,
        code_header: 0,
        code_parts: 0,
        function_code: 0,
        literals: 0,
        inlining_positions: 0,
        locals: 0,
        has_positions_first: false,
        optimized: Optimized { flags: 0, instruction_bytes: 0, maglev: 0, deoptimizations: 0 },
        types: Types {
            bytecodes: 0,
            indirect: 0,
            code: 0,
            instructions: 0,
            shared: 0,
            script: 0,
            scope: 0,
            not_string: 0,
        },
    };

    /// The layout of the V8 that has these constants; `None` for one that keeps something where it is not read.
    pub(super) fn of(constants: &impl Constants) -> Option<Layout> {
        let get = |name: &[u8]| constants.get(name);
        if EXPECTED.iter().any(|(name, expected)| get(name) != Some(*expected)) {
            return None;
        }
        let types = Types {
            bytecodes: get(b"type_BytecodeArray__BYTECODE_ARRAY_TYPE")?,
            indirect: get(b"type_InterpreterData__INTERPRETER_DATA_TYPE")?,
            code: get(b"type_Code__CODE_TYPE")?,
            instructions: get(b"type_InstructionStream__INSTRUCTION_STREAM_TYPE").unwrap_or(0),
            shared: get(b"type_SharedFunctionInfo__SHARED_FUNCTION_INFO_TYPE")?,
            script: get(b"type_Script__SCRIPT_TYPE")?,
            scope: get(b"type_ScopeInfo__SCOPE_INFO_TYPE")?,
            not_string: get(b"FirstNonstringType")?,
        };
        let shared = get(b"class_JSFunction__shared__SharedFunctionInfo")?;
        let locals = get(b"scopeinfo_idx_first_vars")?;
        let has_positions_first = match locals {
            LOCALS_AT => false,
            LOCALS_BEHIND_POSITIONS => true,
            _ => return None,
        };
        // Since 13 there is a word more before the name. Since 12 bytecodes are in trusted memory, in another order.
        let (name, script) = if has_positions_first { (24, 40) } else { (16, 32) };
        let header = get(b"class_BytecodeArray__data__uintptr_t")?;
        let (positions, code_parts) = if header >= 64 { (24, 8) } else { (32, 16) };
        let function_code = if shared == 24 { 48 } else { 24 };
        let inlining_positions = get(b"DeoptimizationDataInliningPositionsIndex").unwrap_or(7);
        let apart = get(b"class_InstructionStream__instruction_start__uintptr_t");
        Some(Layout {
            shared,
            name,
            script,
            positions,
            header_bytes: header.checked_sub(1)?,
            code_header: apart.unwrap_or(INSTRUCTIONS_IN_CODE),
            code_parts,
            function_code,
            literals: get(b"DeoptimizationDataLiteralArrayIndex").unwrap_or(2),
            inlining_positions,
            locals: 8 * (locals + 1),
            has_positions_first,
            optimized: Optimized {
                flags: get(b"class_Code__flags__uint32_t").unwrap_or(0),
                instruction_bytes: get(b"class_Code__instruction_size__int").unwrap_or(0),
                maglev: get(b"CodeKindBaseline")? + 1,
                // Before it: where the code for these begins, and how many there are of each kind.
                deoptimizations: inlining_positions + 4,
            },
            types,
        })
    }

    /// Whether instructions are an object beside their code.
    pub(super) fn has_instructions_apart(&self) -> bool {
        self.types.instructions != 0
    }
}
