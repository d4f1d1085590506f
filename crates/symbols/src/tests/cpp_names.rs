//! Symbols that g++ 12 and clang 14 wrote for one C++ program, and how they read. The names are golden: what changes here
//! changes in front of everybody who reads a report.

use crate::demangle::demangle;
use crate::short::short;

const NAMES: [(&str, &str); 22] = [
    (
        "_ZN4shop12_GLOBAL__N_16hiddenERSt6vectorINSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEESaIS7_EE",
        "shop::(anonymous namespace)::hidden",
    ),
    ("_ZN4shop4joinIJPKcS2_EEENSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEEDpT_", "shop::join"),
    (
        "_ZN4shop5CacheINSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEESt6vectorIiSaIiEEE2atERKS6_",
        "shop::Cache::at",
    ),
    (
        "_ZN4shop5CacheINSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEESt6vectorIiSaIiEEE4eachIZNS_4loadEiRKS6_EUlRS9_E2_EEvT_",
        "shop::Cache::each",
    ),
    ("_ZN4shop6TaggedB2v22goB4fastEi", "shop::Tagged::go"),
    ("_ZN4shopltERKNS_5OrderES2_", "shop::operator<"),
    ("_ZNK4shop5OrdercvbEv", "shop::Order::operator bool"),
    ("_ZNSt10shared_ptrIN4shop5OrderEEaSEOS2_", "std::shared_ptr::operator="),
    ("_ZNSt6vectorIN4shop5OrderESaIS1_EEixEm", "std::vector::operator[]"),
    (
        "_ZNSt6vectorIiSaIiEE17_M_realloc_insertIJRKiEEEvN9__gnu_cxx17__normal_iteratorIPiS1_EEDpOT_",
        "std::vector::_M_realloc_insert",
    ),
    ("_ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEixEm", "std::string::operator[]"),
    (
        "_ZNSt10filesystem7__cxx114pathC1INSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEES1_EERKT_NS1_6formatE",
        "std::filesystem::path::path",
    ),
    ("_ZStplIcSt11char_traitsIcESaIcEENSt7__cxx1112basic_stringIT_T0_T1_EEOS8_S9_", "std::operator+"),
    ("_ZNSt6chrono3_V212system_clock3nowEv", "std::chrono::system_clock::now"),
    ("_ZNSt19_Sp_make_shared_tag5_S_tiEv", "std::_Sp_make_shared_tag::_S_ti"),
    ("_ZZ4mainENKUliE_clEi", "main::{lambda#1}"),
    (
        "_ZZN4shop4loadEiRKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEEENKUliE1_clEi",
        "shop::load::{lambda#3}",
    ),
    ("_ZZN4shop4loadEiRKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEEENK3$_0clEi", "shop::load::$_0"),
    (
        "_ZZN4shop4loadEiRKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEEEN5Local4fillEi",
        "shop::load::Local::fill",
    ),
    ("_ZNSt3__16vectorIiNS_9allocatorIiEEE7reserveB8ne180100Em", "std::vector::reserve"),
    ("_Znwm", "operator new"),
    ("_ZnwmSt11align_val_t", "operator new"),
];

#[test]
fn names_of_cpp_read_well() {
    let read: Vec<_> = NAMES.iter().map(|(raw, _)| (*raw, short(&demangle(raw)))).collect();
    let differs: Vec<_> =
        read.iter().zip(NAMES).filter(|((_, read), (_, expected))| read != expected).collect();
    assert!(differs.is_empty(), "{differs:#?}");
}
