//! Selections as a user gives them: text, or plain data from another language.

use std::fmt;
use std::str::FromStr;

use serde::de::{Deserializer, Error as _};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

use ncforge::model::Number;
use ncforge_tune::vocabulary::BadValue;

/// How to write a selection.
const WRITE: &str = "DIM=3:21 (indices), DIM=-10..10 (values), DIM=2000-01..2000-06 (dates)";

/// Bytes of a selection that an error shows.
const MOST_SHOWN: usize = 60;

/// The indices that are wanted along dimensions.
///
/// ```
/// use ncforge_ops::select::Selection;
/// let selection: Selection = "time=2000-01..2000-06,lat=-10..10,/g/level=::2".parse().unwrap();
/// assert_eq!(selection.to_string(), "time=2000-01..2000-06,lat=-10.0..10.0,/g/level=::2");
/// assert!("time=3:2:0".parse::<Selection>().unwrap_err().to_string().contains("step"));
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Selection(Vec<(String, Pick)>);

/// The indices that are wanted along one dimension.
#[derive(Clone, Debug, PartialEq)]
pub enum Pick {
    /// One index; from the end if below 0. It may be meant as a value.
    Index(i64),
    /// Indices, as in Python.
    Slice {
        /// The first; from the end if below 0.
        first: Option<i64>,
        /// The one after the last.
        end: Option<i64>,
        /// At least 1.
        step: u64,
    },
    /// Indices in even steps, each of which has to be there; from the end if below 0.
    Each {
        /// The first.
        first: i64,
        /// The last.
        last: i64,
        /// At least 1.
        step: u64,
    },
    /// Those between two values of the coordinate; of an absent one to the end.
    Between(Option<End>, Option<End>),
    /// The same of the values as they are stored, of longitudes, too. Where the first is larger than the second: from it to the end of
    /// the coordinate, and from its beginning to the second.
    Stored(Option<End>, Option<End>),
    /// Those of a date; four digits are an index along what is no time.
    At(String),
}

/// An end of a range of values.
#[derive(Clone, Debug, PartialEq)]
pub enum End {
    /// A number in the units of the coordinate: a whole one of any size, or a double.
    Number(Number),
    /// A date.
    Date(String),
}

impl Selection {
    /// Whether nothing was selected: all is wanted.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Dimensions, by name or path, and what is wanted along them.
    pub fn picks(&self) -> impl Iterator<Item = (&str, &Pick)> {
        self.0.iter().map(|(name, pick)| (name.as_str(), pick))
    }

    /// The first indices along a dimension.
    pub(crate) fn first(dim: &str, count: u64) -> Self {
        let end = i64::try_from(count).unwrap_or(i64::MAX);
        Selection(vec![(dim.to_owned(), Pick::Slice { first: Some(0), end: Some(end), step: 1 })])
    }

    /// Several selections as one.
    pub fn all(parts: &[Selection]) -> Self {
        Selection(parts.iter().flat_map(|s| s.0.iter().cloned()).collect())
    }
}

fn bad(text: &str, why: impl fmt::Display) -> BadValue {
    BadValue { write: Some(WRITE), ..BadValue::of(text, why) }
}

impl FromStr for Selection {
    type Err = BadValue;

    fn from_str(text: &str) -> Result<Self, BadValue> {
        let mut parts = Vec::new();
        for part in unescaped(text, ',') {
            let mut sides = unescaped(part, '=');
            let (Some(name), Some(_)) = (sides.next(), sides.next()) else {
                return Err(bad(part.trim(), "a selection is a dimension, `=`, and what is wanted along it"));
            };
            let pick = part[name.len() + 1..].trim().parse()?;
            let name = plain(name.trim());
            if name.trim_matches('/').is_empty() {
                return Err(bad(part.trim(), "the dimension is missing"));
            }
            parts.push((name, pick));
        }
        Ok(Selection(parts))
    }
}

/// The parts of a text between separators; one behind a backslash is none.
fn unescaped(text: &str, separator: char) -> impl Iterator<Item = &str> {
    let mut escaped = false;
    text.split(move |c: char| {
        let is_end = c == separator && !escaped;
        escaped = c == '\\' && !escaped;
        is_end
    })
}

/// A name without the backslashes that protect separators.
fn plain(name: &str) -> String {
    let mut escaped = false;
    let keep = |c: &char| {
        let drop = *c == '\\' && !escaped;
        escaped = drop;
        !drop
    };
    name.chars().filter(keep).collect()
}

impl FromStr for Pick {
    type Err = BadValue;

    fn from_str(text: &str) -> Result<Self, BadValue> {
        let text = text.trim();
        if let Some((from, to)) = text.split_once("..") {
            if text.contains("...") || to.contains("..") {
                return Err(bad(text, "there are too many dots"));
            }
            return match from.strip_prefix('=') {
                Some(from) => Pick::range(Pick::Stored, End::of(from)?, End::of(to)?, text),
                None => Pick::range(Pick::Between, End::of(from)?, End::of(to)?, text),
            };
        }
        if is_date(text) || is_year(text) {
            return Ok(Pick::At(text.to_owned()));
        }
        if text.contains(':') {
            return slice(text);
        }
        match text.parse() {
            Ok(at) => Ok(Pick::Index(at)),
            Err(_) if text.is_empty() => Err(bad(text, "nothing is wanted")),
            Err(_) if text.parse::<f64>().is_ok() => {
                Err(bad(text, format_args!("a single value of a coordinate is a range, too: {text}..{text}")))
            }
            Err(_) => Err(bad(text, "it is no index, no range, and no date")),
        }
    }
}

impl Pick {
    fn range(
        kind: fn(Option<End>, Option<End>) -> Self,
        from: Option<End>,
        to: Option<End>,
        text: &str,
    ) -> Result<Self, BadValue> {
        match (from, to) {
            (None, None) => Err(bad(text, "a range of values needs an end")),
            (from, to) => Ok(kind(from, to)),
        }
    }
}

/// The end of a slice behind an index: the last of all has none.
pub(super) fn behind(last: i64) -> Option<i64> {
    last.checked_add(1).filter(|&end| end != 0)
}

/// `2000-02` and more; a number with a sign in front is none.
fn is_date(text: &str) -> bool {
    let digits = text.trim_start_matches(['-', '+']);
    let year = digits.bytes().take_while(u8::is_ascii_digit).count();
    year >= 4 && digits[year..].starts_with('-')
}

/// Four digits.
pub(super) fn is_year(text: &str) -> bool {
    text.len() == 4 && text.bytes().all(|b| b.is_ascii_digit())
}

fn slice(text: &str) -> Result<Pick, BadValue> {
    let parts: Vec<&str> = text.split(':').map(str::trim).collect();
    let number = |text: &str| match text {
        "" => Ok(None),
        text => text.parse::<i64>().map(Some).map_err(|_| bad(text, "it is no index")),
    };
    let (first, end, step) = match parts[..] {
        [first, end] => (first, end, ""),
        [first, end, step] => (first, end, step),
        _ => return Err(bad(text, "indices are FIRST:END or FIRST:END:STEP")),
    };
    let step = match number(step)? {
        None => 1,
        Some(step) => {
            u64::try_from(step).ok().filter(|&s| s > 0).ok_or_else(|| bad(text, "the step is below 1"))?
        }
    };
    Ok(Pick::Slice { first: number(first)?, end: number(end)?, step })
}

impl End {
    /// A date, four digits among them, or a number; nothing: no end.
    fn of(text: &str) -> Result<Option<Self>, BadValue> {
        let text = text.trim();
        if text.is_empty() {
            return Ok(None);
        }
        if is_date(text) || is_year(text) {
            return Ok(Some(End::Date(text.to_owned())));
        }
        let number = match (text.strip_suffix(".0").unwrap_or(text).parse(), text.parse::<f64>()) {
            (Ok(whole), _) => Some(Number::Integer(whole)),
            (_, Ok(number)) => End::double(number),
            _ => None,
        };
        number
            .map(|number| Some(End::Number(number)))
            .ok_or_else(|| bad(text, "it is neither a number nor a date"))
    }

    /// A double as an end: 5.0 is 5.
    fn double(number: f64) -> Option<Number> {
        let number = Number::Double(number);
        let whole = number.whole().map(|n| Number::Integer(n.into()));
        (!number.to_f64().is_nan()).then_some(whole.unwrap_or(number))
    }
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // With a decimal point: four digits are a year.
            End::Number(Number::Integer(whole)) => write!(f, "{whole}.0"),
            End::Number(number) => write!(f, "{:?}", number.to_f64()),
            End::Date(text) => f.write_str(text),
        }
    }
}

impl fmt::Display for Pick {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |n: &Option<i64>| n.map_or(String::new(), |n| n.to_string());
        match self {
            Pick::Index(at) => write!(f, "{at}"),
            Pick::Slice { first, end, step: 1 } => write!(f, "{}:{}", shown(first), shown(end)),
            Pick::Slice { first, end, step } => write!(f, "{}:{}:{step}", shown(first), shown(end)),
            Pick::Each { first, last, step } => {
                Pick::Slice { first: Some(*first), end: behind(*last), step: *step }.fmt(f)
            }
            Pick::Between(from, to) | Pick::Stored(from, to) => {
                let shown = |end: &Option<End>| end.as_ref().map_or(String::new(), End::to_string);
                let stored = if matches!(self, Pick::Stored(..)) { "=" } else { "" };
                write!(f, "{stored}{}..{}", shown(from), shown(to))
            }
            Pick::At(text) => f.write_str(text),
        }
    }
}

impl fmt::Display for Selection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (name, pick)) in self.0.iter().enumerate() {
            let name: String = name
                .chars()
                .flat_map(|c| [matches!(c, ',' | '=' | '\\').then_some('\\'), Some(c)])
                .flatten()
                .collect();
            write!(f, "{}{name}={pick}", if i > 0 { "," } else { "" })?;
        }
        Ok(())
    }
}

impl Serialize for Selection {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Selection {
    /// Text, a list of texts, or what is wanted by dimension: an index, a text, two ends of values, or an object with a `slice` or `indices`.
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        of_data(&Value::deserialize(from)?).map_err(D::Error::custom)
    }
}

fn of_data(value: &Value) -> Result<Selection, BadValue> {
    match value {
        Value::Null => Ok(Selection::default()),
        Value::String(text) if text.trim().is_empty() => Ok(Selection::default()),
        Value::String(text) => text.parse(),
        Value::Array(list) => Ok(Selection::all(&list.iter().map(of_data).collect::<Result<Vec<_>, _>>()?)),
        Value::Object(map) => {
            let one = |(name, value): (&String, &Value)| Ok((name.clone(), pick_of(name, value)?));
            map.iter().map(one).collect::<Result<_, _>>().map(Selection)
        }
        other => Err(bad(&other.to_string(), "it is no selection")),
    }
}

fn pick_of(name: &str, value: &Value) -> Result<Pick, BadValue> {
    let mut given: String = format!("{name}={value}");
    if given.len() > MOST_SHOWN {
        given = format!("{}…", given.chars().take(MOST_SHOWN).collect::<String>());
    }
    let end = |value: &Value| match value {
        Value::Null => Ok(None),
        Value::String(text) => End::of(text),
        number => {
            let whole = number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from));
            let number = whole.map(Number::Integer).or_else(|| End::double(number.as_f64()?));
            let number = number.ok_or_else(|| bad(&given, "an end of a range is a number or a date"))?;
            Ok(Some(End::Number(number)))
        }
    };
    match value {
        Value::String(text) => text.parse(),
        Value::Number(n) => match n.as_i64() {
            Some(at) => Ok(Pick::Index(at)),
            None => Err(bad(&given, "it is no index; two numbers are a range of values")),
        },
        Value::Array(list) => match &list[..] {
            [from, to] => Pick::range(Pick::Between, end(from)?, end(to)?, &given),
            _ => Err(bad(&given, "a range of values has two ends")),
        },
        Value::Object(map) => match map.iter().next() {
            Some((kind, Value::Array(list))) if kind == "slice" => match &list[..] {
                [first, last, step] => slice_of(first, last, step, &given, end),
                _ => Err(bad(&given, "a slice has a start, a stop and a step")),
            },
            Some((kind, Value::Array(list))) if kind == "indices" => indices(list, &given),
            _ => Err(bad(&given, "it is no index, no range, and no date")),
        },
        _ => Err(bad(&given, "it is no index, no range, and no date")),
    }
}

/// A slice of indices; without a step, it may be one of values, as xarray has it.
fn slice_of(
    first: &Value,
    last: &Value,
    step: &Value,
    given: &str,
    end: impl Fn(&Value) -> Result<Option<End>, BadValue>,
) -> Result<Pick, BadValue> {
    let is_index = |value: &Value| value.is_null() || value.is_i64() || value.is_u64();
    if is_index(first) && is_index(last) {
        let step = if step.is_null() { Some(1) } else { step.as_u64().filter(|&s| s > 0) };
        let step = step.ok_or_else(|| bad(given, "the step is below 1"))?;
        return Ok(Pick::Slice { first: first.as_i64(), end: last.as_i64(), step });
    }
    match step.is_null() {
        true => Pick::range(Pick::Between, end(first)?, end(last)?, given),
        false => Err(bad(given, "a slice of values has no step")),
    }
}

/// Indices one by one, which are a slice if they rise in even steps.
fn indices(list: &[Value], given: &str) -> Result<Pick, BadValue> {
    let refused = || {
        let why = "indices one by one are taken where they rise in even steps; a slice is a run of them, two values in a tuple \
                   are a range of values";
        bad(given, why)
    };
    let at = list.iter().map(Value::as_i64).collect::<Option<Vec<_>>>().ok_or_else(refused)?;
    let (Some(&first), Some(&last)) = (at.first(), at.last()) else { return Err(refused()) };
    let step = at.get(1).map_or(Some(1), |second| second.checked_sub(first)).unwrap_or(0);
    let is_even = at.windows(2).all(|pair| pair[1].checked_sub(pair[0]) == Some(step));
    let step = u64::try_from(step).ok().filter(|&s| s > 0 && is_even && (first < 0) == (last < 0));
    Ok(Pick::Each { first, last, step: step.ok_or_else(refused)? })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn parsed(text: &str) -> Selection {
        text.parse().unwrap_or_else(|e| panic!("{text}: {e}"))
    }

    fn pick(text: &str) -> Pick {
        parsed(&format!("d={text}")).0.remove(0).1
    }

    #[test]
    fn what_is_wanted() {
        let slice = |first, end, step| Pick::Slice { first, end, step };
        let number = |n| End::double(n).map(End::Number);
        let date = |text: &str| Some(End::Date(text.to_owned()));
        for (text, expected) in [
            ("5", Pick::Index(5)),
            ("5:6", slice(Some(5), Some(6), 1)),
            ("-1", Pick::Index(-1)),
            (" 3 : 21 ", slice(Some(3), Some(21), 1)),
            (":", slice(None, None, 1)),
            ("::4", slice(None, None, 4)),
            ("-12:", slice(Some(-12), None, 1)),
            ("-10..10.5", Pick::Between(number(-10.0), number(10.5))),
            ("..1e3", Pick::Between(None, number(1000.0))),
            ("2000..2005", Pick::Between(date("2000"), date("2005"))),
            ("2000.0..", Pick::Between(number(2000.0), None)),
            ("2000-06..", Pick::Between(date("2000-06"), None)),
            ("-0044-03-15..-0043", Pick::Between(date("-0044-03-15"), number(-43.0))),
            ("=350..10.5", Pick::Stored(number(350.0), number(10.5))),
            ("9007199254740993..", Pick::Between(Some(End::Number(Number::Integer((1 << 53) + 1))), None)),
            ("=..2000", Pick::Stored(None, date("2000"))),
            ("2000", Pick::At("2000".into())),
            ("2000-02-03T12:30", Pick::At("2000-02-03T12:30".into())),
            ("2000-02-03 12:30..2000-02-04", Pick::Between(date("2000-02-03 12:30"), date("2000-02-04"))),
        ] {
            assert_eq!(pick(text), expected, "{text}");
        }
        for text in [
            "",
            "d",
            "d=",
            "=3",
            "/=3",
            "d=1.5",
            "d=..",
            "d=1...2",
            "d==..",
            "d==5",
            "d===1..2",
            "d=1:2:3:4",
            "d=::0",
            "d=::-1",
            "d=a:b",
            "d=nan..",
            "d=x..y",
            "d=3:4,,",
        ] {
            assert!(text.parse::<Selection>().is_err(), "{text}");
        }
    }

    #[test]
    fn names_with_separators() {
        let odd = parsed(r"a\,b\=c=1:2, /g/\\d =3");
        let names: Vec<&str> = odd.picks().map(|p| p.0).collect();
        assert_eq!(names, ["a,b=c", r"/g/\d"]);
        assert_eq!(parsed(&odd.to_string()), odd);
    }

    #[test]
    fn plain_data() {
        let of = |value| serde_json::from_value::<Selection>(value).map_err(|e| e.to_string());
        let all = json!({"a": 3, "b": [-10, 10.5], "c": {"slice": [1, null, 2]}, "d": ["2000", "2001-02"], "e": "2000-02", "f": {"slice": [0.5, 2, null]}});
        assert_eq!(of(all).unwrap(), parsed("a=3,b=-10.0..10.5,c=1::2,d=2000..2001-02,e=2000-02,f=0.5..2.0"));
        assert_eq!(of(json!(["a=1:2", "b=3:4,c=5:"])).unwrap(), parsed("a=1:2,b=3:4,c=5:"));
        assert_eq!(of(json!({"t": [2000, 2001]})).unwrap(), parsed("t=2000.0..2001.0"));
        for (at, text) in [
            (json!([2, 5, 8]), "2:9:3"),
            (json!([4]), "4:5"),
            (json!([-3, -2, -1]), "-3:"),
            (json!([0, 1, 2]), "0:3"),
        ] {
            assert_eq!(of(json!({"d": {"indices": at}})).unwrap().to_string(), format!("d={text}"));
        }
        assert_eq!(of(json!({"x": ["inf", 2.5]})).unwrap(), parsed("x=inf..2.5"));
        assert!(of(json!({"x": ["NaN", 2.5]})).unwrap_err().contains("neither a number nor a date"));
        for at in [json!([2, 5, 9]), json!([3, 2]), json!([1, 1]), json!([-1, 0]), json!([]), json!([true])] {
            assert!(of(json!({"d": {"indices": at}})).unwrap_err().contains("even steps"), "{at}");
        }
        let big = of(json!({"d": [9_007_199_254_740_993_i64, u64::MAX]})).unwrap();
        assert_eq!(big, parsed("d=9007199254740993..18446744073709551615"));
        for wrong in [
            json!(3),
            json!({"a": 1.5}),
            json!({"a": [1, 2, 3]}),
            json!({"a": {"slice": [1, 2, 0]}}),
            json!({"a": {"slice": [0.5, 2, 1]}}),
            json!({"a": [null, null]}),
            json!({"a": {}}),
            json!({"a": [1]}),
        ] {
            assert!(of(wrong.clone()).is_err(), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn no_text_is_too_odd(text in "\\PC{0,40}", short in "[a=:.,/0-9\\\\-]{0,12}") {
            for text in [text, short] {
                if let Ok(found) = text.parse::<Selection>() {
                    prop_assert_eq!(found.to_string().parse::<Selection>(), Ok(found), "{}", text);
                }
            }
        }
    }
}
