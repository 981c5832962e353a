//! English and French stop words (spec 3 §5.1), as sorted tables. They are function words, and the
//! few verbs that only introduce a request ("I want help with"). A word that could name a subject
//! is not included, whatever it means in the other language: `car`, `comment`, `ai`, `es`, `go`,
//! `create`, `make`, `test`.

use super::ends::Ends;
use super::tokens::has;

/// Dropped if they are a whole token.
#[rustfmt::skip]
pub(super) const STOP_WORDS: &[&str] = &[
    "a", "about", "aimerais", "alors", "also", "am", "an", "and", "any", "are", "as", "at", "au",
    "aussi", "aux", "avait", "avec", "avez", "avoir", "avons", "be", "been", "being", "besoin",
    "both", "but", "by", "can", "cannot", "ce", "ceci", "cela", "ces", "cet", "cette", "chez",
    "comme", "could", "dans", "de", "des", "devez", "did", "do", "does", "doing", "dois", "doit",
    "donc", "dont", "du", "each", "elle", "elles", "en", "entre", "est", "est-ce", "et", "eux",
    "faut", "for", "from", "had", "has", "have", "having", "he", "help", "her", "here", "his",
    "how", "i", "if", "il", "ils", "in", "into", "is", "it", "its", "je", "just", "la", "le", "les",
    "leur", "leurs", "lui", "ma", "mais", "may", "me", "merci", "mes", "might", "moi", "mon",
    "must", "my", "même", "ne", "need", "ni", "no", "nor", "nos", "not", "notre", "nous", "of",
    "on", "ont", "onto", "or", "other", "ou", "our", "out", "over", "où", "par", "pas", "peut",
    "peut-être", "peux", "please", "plus", "pour", "pouvez", "puis", "quand", "que", "quel",
    "quelle", "quelles", "quels", "qui", "quoi", "sa", "sans", "se", "sera", "ses", "shall", "she",
    "should", "si", "so", "some", "sommes", "son", "sont", "sous", "such", "suis", "sur", "svp",
    "ta", "te", "tes", "than", "that", "the", "their", "them", "then", "there", "these", "they",
    "this", "those", "to", "toi", "ton", "too", "tous", "tout", "toute", "toutes", "très", "tu",
    "un", "une", "up", "use", "using", "vers", "very", "veut", "veux", "vos", "votre", "voudrais",
    "vous", "want", "was", "we", "were", "what", "when", "where", "which", "while", "who", "whom",
    "whose", "why", "will", "with", "would", "y", "you", "your", "à", "ça", "étaient", "était",
    "été", "êtes", "être",
];

/// Dropped by the ranker only: words of requests that do not distinguish skills, and those of
/// [`STOP_WORDS`] that lose an accent before they are compared. The tokens of spec 3 keep them.
#[rustfmt::skip]
const TERM_STOP_WORDS: &[&str] = &[
    "etaient", "etait", "ete", "etes", "etre", "get", "got", "let", "like", "meme", "one",
    "thing", "things", "tres", "us", "way",
];

/// Dropped by the ranker from Chinese and Japanese text: function words, and what introduces a
/// request (`帮我`). They also end the runs of characters that bigrams are made of.
#[rustfmt::skip]
const UNSPACED_STOP_WORDS: &[&str] = &[
    "あの", "お願い", "お願いします", "ください", "この", "これ", "した", "して", "してください",
    "して下さい", "します", "する", "その", "それ", "です", "どう", "どの", "なに", "について",
    "ます", "を", "一下", "一个", "一些", "一個", "下さい", "不会", "不是", "不會", "不能", "不要",
    "与", "个", "为什么", "么", "之前", "之后", "之後", "也", "也是", "了", "什么", "什麼", "今天",
    "他", "他们", "他們", "以前", "以及", "以后", "以後", "们", "但是", "你", "你们", "你們",
    "你好", "使用", "個", "們", "关于", "几个", "只是", "只要", "可不可以", "可以", "可能", "吗",
    "吧", "呀", "呢", "和", "咱们", "咱們", "哪", "哪个", "哪些", "哪個", "哪裡", "哪里", "啊",
    "嗎", "嘛", "因为", "因為", "在", "多少", "大家", "她", "如何", "如果", "它", "对于", "對於",
    "就", "就是", "已經", "已经", "希望", "帮忙", "帮我", "幫忙", "幫我", "幾個", "应该", "很",
    "怎么", "怎么样", "怎样", "怎樣", "怎麼", "怎麼樣", "您", "想要", "應該", "我", "我们", "我們",
    "或", "或者", "所以", "所有", "把", "时候", "明天", "昨天", "是", "是不是", "是否", "時候",
    "最近", "有", "有沒有", "有没有", "沒", "沒有", "没", "没有", "為什麼", "然后", "然後", "现在",
    "現在", "的", "的話", "的话", "看看", "着", "給", "给", "而且", "能不能", "自己", "與", "著",
    "被", "請", "謝謝", "讓", "让", "请", "谢谢", "跟", "还", "还是", "这", "这个", "这些", "这样",
    "这里", "這", "這些", "這個", "這樣", "這裡", "還", "還是", "那", "那个", "那些", "那個",
    "那样", "那樣", "那裡", "那里", "都", "都是", "關於", "需要", "麻烦", "麻煩", "麼",
];

/// Words that begin or end like one of [`UNSPACED_STOP_WORDS`] and are kept whole.
#[rustfmt::skip]
const UNSPACED_WORDS: &[&str] = &[
    "个人", "供給", "供给", "個人", "共有", "参与", "參與", "和平", "在線", "在线", "存在", "就业",
    "就業", "就緒", "就绪", "成就", "成都", "把握", "拥有", "持有", "擁有", "整个", "整個", "显著",
    "有效", "有限", "沒收", "没收", "现有", "現有", "申請", "申请", "目的", "私有", "自我", "著作",
    "被动", "被動", "請求", "请求", "跟踪", "还原", "还款", "邀請", "邀请", "還原", "還款", "顯著",
    "首都",
];

/// Words that negate what follows.
const NEGATIONS: &[&str] = &[
    "except", "jamais", "neither", "never", "no", "nor", "not", "pas", "sans", "sauf", "without",
];

/// Dropped directly before an apostrophe and more letters: French elisions, and the verbs of
/// English negations (`don't`, `isn't`).
#[rustfmt::skip]
pub(super) const BEFORE_APOSTROPHE: &[&str] = &[
    "ain", "aren", "aujourd", "c", "can", "couldn", "d", "didn", "doesn", "don", "hadn", "hasn",
    "haven", "isn", "j", "jusqu", "l", "lorsqu", "m", "mustn", "n", "needn", "presqu", "puisqu",
    "qu", "quelqu", "quoiqu", "s", "shouldn", "t", "wasn", "weren", "won", "wouldn",
];

/// Dropped directly after letters and an apostrophe: English contractions, `j'ai`, and the end of
/// `aujourd'hui`.
pub(super) const AFTER_APOSTROPHE: &[&str] = &["ai", "d", "hui", "ll", "m", "re", "s", "t", "ve"];

/// The English possessive suffix. The `c` of `C's` is not the elision of `c'est`.
pub(super) const POSSESSIVE: &str = "s";

/// Whether the ranker drops a lower-case word: a stop word of spec 3, or one of
/// [`TERM_STOP_WORDS`].
pub(super) fn is_term_stop_word(word: &str) -> bool {
    ENDS.may_hold(word) && (has(STOP_WORDS, word) || has(TERM_STOP_WORDS, word))
}

/// Han, kana and Hangul: scripts without spaces between words or, for Hangul, with suffixes
/// attached to the words that carry the meaning.
pub(crate) fn is_unspaced(c: char) -> bool {
    matches!(
        u32::from(c),
        0x3040..=0x30ff | 0x3400..=0x4dbf | 0x4e00..=0x9fff | 0xac00..=0xd7af | 0xf900..=0xfaff
        | 0x2_0000..=0x3_ffff
    )
}

/// Whether a word, in any case, negates what follows it.
pub(super) fn is_negation(word: &str) -> bool {
    let ends = |end: &str| {
        let start = word.len().checked_sub(end.len());
        start.is_some_and(|start| word.as_bytes()[start..].eq_ignore_ascii_case(end.as_bytes()))
    };
    // `don't`
    let is_contracted = word.ends_with(['t', 'T']) && (ends("n't") || ends("n’t"));
    is_contracted || NEGATION_ENDS.may_hold(word) && has(NEGATIONS, word)
}

/// Whether one of [`UNSPACED_STOP_WORDS`] negates what follows it.
pub(super) fn is_unspaced_negation(stop_word: &str) -> bool {
    stop_word.starts_with(['不', '没', '沒'])
}

/// How text of a script without spaces begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UnspacedStart {
    /// With a stop word of this length in bytes.
    StopWord(usize),
    /// With a word, or else a character, of this length in bytes.
    Word(usize),
}

/// How the text begins, by the longest entry of both tables. `None` if it is empty.
pub(super) fn unspaced_start(text: &str) -> Option<UnspacedStart> {
    let character = text.chars().next()?.len_utf8();
    let word = longest(UNSPACED_WORDS, text, character);
    let stop_word = longest(UNSPACED_STOP_WORDS, text, character);
    Some(if word < stop_word {
        UnspacedStart::StopWord(stop_word)
    } else {
        UnspacedStart::Word(word.max(character))
    })
}

/// The length of the longest word of a sorted table that the text begins with; 0 if there is none.
/// `character` is the length of the first character.
fn longest(table: &[&str], text: &str, character: usize) -> usize {
    let first = &text[..character];
    let from = table.partition_point(|word| *word < first);
    let candidates = table[from..].iter();
    let candidates = candidates.take_while(|word| word.starts_with(first));
    let found = candidates.filter(|word| text.starts_with(**word));
    found.map(|word| word.len()).max().unwrap_or(0)
}

const ENDS: Ends = add_ends(TERM_STOP_WORDS, add_ends(STOP_WORDS, Ends::NONE));
const NEGATION_ENDS: Ends = add_ends(NEGATIONS, Ends::NONE);

const fn add_ends(table: &[&str], mut ends: Ends) -> Ends {
    let mut at = 0;
    while at < table.len() {
        ends = ends.and(table[at]);
        at += 1;
    }
    ends
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_of_both_tables_is_dropped_by_the_ranker_and_others_are_not() {
        for word in STOP_WORDS.iter().chain(TERM_STOP_WORDS) {
            assert!(is_term_stop_word(word), "{word}");
        }
        for word in ["", "c", "r", "test", "them", "theme", "tout", "toucan"] {
            let expected = STOP_WORDS.contains(&word) || TERM_STOP_WORDS.contains(&word);
            assert_eq!(is_term_stop_word(word), expected, "{word}");
        }
    }

    #[test]
    fn tables_are_sorted_and_hold_each_word_once() {
        for table in [
            STOP_WORDS,
            TERM_STOP_WORDS,
            BEFORE_APOSTROPHE,
            AFTER_APOSTROPHE,
            NEGATIONS,
            UNSPACED_STOP_WORDS,
            UNSPACED_WORDS,
        ] {
            assert!(table.is_sorted_by(|a, b| a < b), "{table:?}");
        }
    }

    #[test]
    fn text_without_spaces_begins_with_the_longest_word() {
        use UnspacedStart::{StopWord, Word};
        for (text, expected) in [
            ("", None),
            ("帮我看", Some(StopWord(6))),
            ("有没有", Some(StopWord(9))),
            ("有效的", Some(Word(6))),
            ("合同", Some(Word(3))),
            ("を", Some(StopWord(3))),
        ] {
            assert_eq!(unspaced_start(text), expected, "{text}");
        }
    }

    #[test]
    fn words_that_name_subjects_are_not_stopped() {
        for word in [
            "ai", "c", "car", "comment", "create", "d", "es", "go", "make", "r", "test", "write",
        ] {
            assert!(STOP_WORDS.binary_search(&word).is_err(), "{word}");
        }
    }
}
